internal import CLibPQ
import Logging

/// A message that a session sent with NOTIFY.
package struct Notification: Hashable, Sendable {
    package let channel: String
    /// The text that was sent with it; empty if NOTIFY had none.
    package let payload: String
    /// The process identifier of the server process that sent it.
    package let senderProcessIdentifier: Int32
}

extension Connection {
    /// Waits for notifications on the channels that this session listens to (LISTEN), and returns those that have
    /// arrived. Returns an empty array if the time is over or ``wakeUp()`` was called.
    ///
    /// The server sends notifications only between transactions. Of the notifications that arrive while a statement
    /// runs, the first ``mostKeptNotifications`` are kept and the others dropped, because every role may send any number.
    ///
    /// - Throws: `connectionLost`; `cancelled` if the task of the surrounding ``run(_:)`` is cancelled.
    package func notifications(waitingAtMost limit: Duration) throws(PostgresError) -> [Notification] {
        let pointer = try handle.live()
        let deadline = ContinuousClock.now + limit
        while true {
            guard interruption.cancelledAt == nil else {
                throw PostgresError(.cancelled, "the task was cancelled while it waited for notifications")
            }
            guard PQconsumeInput(pointer) == 1 else { throw handle.failure() }
            let received = takeKeptNotifications() + takeNotifications(pointer)
            if interruption.wasWokenSinceLastCall() || !received.isEmpty { return received }
            let remaining = deadline - ContinuousClock.now
            guard remaining > .zero else { return [] }
            _ = interruption.pipe.wait(socket: PQsocket(pointer), timeout: remaining)
        }
    }

    /// The time in which a notification arrives, if any arrive. The server itself may be slow, but does not lose a notification.
    private static func longestDelivery(isDirect: Bool) -> Duration { isDirect ? .seconds(10) : .seconds(2) }

    /// The time in which the session that notifies connects and notifies. A pooler without a free connection accepts its login at once, and keeps
    /// its statement waiting.
    package static let longestSending = Duration.seconds(10)

    /// Tests whether notifications of other sessions arrive on a channel that this session listens to. Through a pooler in
    /// transaction mode, none arrives. (A session's own notification arrives even there, with the answer to the statement.)
    ///
    /// - Parameters:
    ///   - channel: The channel. Other notifications that arrive meanwhile are dropped.
    ///   - sender: How the session connects that notifies.
    ///   - limit: How long that session may take to connect and to notify.
    /// - Returns: Whether the notification arrived in time.
    /// - Throws: An error of one of the two connections; `connectionFailed` if the other one takes too long.
    package nonisolated func receivesNotification(
        on channel: String, from sender: ConnectionParameters, sendingWithin limit: Duration = longestSending
    ) async throws(PostgresError) -> Bool {
        let payload = "test \(UInt64.random(in: 0 ... .max))"
        let isDirect = try await run { connection throws(PostgresError) in try connection.isDirect() }
        let longestDelivery = Self.longestDelivery(isDirect: isDirect)
        try await Self.notify(channel, payload, from: sender, within: limit, logger)
        return try await run { connection throws(PostgresError) in
            let deadline = ContinuousClock.now + longestDelivery
            while ContinuousClock.now < deadline {
                let notifications = try connection.notifications(waitingAtMost: deadline - .now)
                if notifications.contains(where: { $0.payload == payload }) { return true }
            }
            return false
        }
    }

    private static func notify(
        _ channel: String, _ payload: String, from sender: ConnectionParameters, within duration: Duration,
        _ logger: Logger
    ) async throws(PostgresError) {
        let sending = Task { () async -> Result<Void, PostgresError> in
            do throws(PostgresError) {
                let other = try await Connection.connect(sender, logger: logger)
                // Only `run` ends a statement without an answer when the task is cancelled.
                try await other.run { other throws(PostgresError) in
                    _ = try other.query("SELECT pg_catalog.pg_notify(\(channel), \(payload))")
                }
                await other.close()
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        let limit = Task {
            try await Task.sleep(for: duration)
            sending.cancel()
        }
        defer { limit.cancel() }
        let result = await withTaskCancellationHandler {
            await sending.value
        } onCancel: {
            sending.cancel()
        }
        guard case .failure(let error) = result, error.code == .cancelled, !Task.isCancelled else {
            return try result.get()
        }
        throw PostgresError(
            .connectionFailed,
            "a second connection, which sends a notification, had no answer within \(duration.inSeconds)"
        )
    }

    /// How many notifications that arrive during statements are kept for the next call of
    /// ``notifications(waitingAtMost:)``. Each has up to 8,000 bytes.
    package static let mostKeptNotifications = 100

    /// Takes the notifications that have arrived out of libpq, which would otherwise keep all of them until the end of
    /// the statement. Must be called after each read.
    func keepNotifications(_ pointer: OpaquePointer) {
        keptNotifications += takeNotifications(
            pointer, atMost: Self.mostKeptNotifications - keptNotifications.count)
    }

    private func takeKeptNotifications() -> [Notification] {
        defer { keptNotifications = [] }
        return keptNotifications
    }

    /// Drops the notifications beyond the limit.
    private func takeNotifications(_ pointer: OpaquePointer, atMost limit: Int = .max) -> [Notification] {
        var notifications: [Notification] = []
        while let notification = PQnotifies(pointer) {
            defer { PQfreemem(notification) }
            guard notifications.count < limit else { continue }
            notifications.append(
                Notification(
                    channel: String(cString: notification.pointee.relname),
                    payload: String(cString: notification.pointee.extra),
                    senderProcessIdentifier: notification.pointee.be_pid))
        }
        return notifications
    }
}
