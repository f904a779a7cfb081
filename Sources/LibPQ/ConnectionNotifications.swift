internal import CLibPQ

/// A message that a session sent with NOTIFY.
package struct Notification: Hashable, Sendable {
    package let channel: String
    /// Empty where NOTIFY had none.
    package let payload: String
    /// The sending server process.
    package let senderProcessIdentifier: Int32
}

extension Connection {
    /// Waits for notifications of the channels that this session listens to (LISTEN), and returns those that are there:
    /// none where the time is over, or ``wakeUp()`` was called.
    ///
    /// The server sends them only between transactions.
    ///
    /// - Throws: `connectionLost`; `cancelled` where the task of the surrounding ``run(_:)`` is cancelled.
    package func notifications(waitingAtMost limit: Duration) throws(PostgresError) -> [Notification] {
        let pointer = try handle.live()
        let deadline = ContinuousClock.now + limit
        while true {
            guard interruption.cancelledAt == nil else {
                throw PostgresError(.cancelled, "the task was cancelled while it waited for notifications")
            }
            guard PQconsumeInput(pointer) == 1 else { throw handle.failure() }
            let received = takeNotifications(pointer)
            if interruption.takeWakeUp() || !received.isEmpty { return received }
            let remaining = deadline - ContinuousClock.now
            guard remaining > .zero else { return [] }
            _ = interruption.pipe.wait(socket: PQsocket(pointer), timeout: remaining)
        }
    }

    private func takeNotifications(_ pointer: OpaquePointer) -> [Notification] {
        var notifications: [Notification] = []
        while let notification = PQnotifies(pointer) {
            notifications.append(
                Notification(
                    channel: String(cString: notification.pointee.relname),
                    payload: String(cString: notification.pointee.extra),
                    senderProcessIdentifier: notification.pointee.be_pid))
            PQfreemem(notification)
        }
        return notifications
    }
}
