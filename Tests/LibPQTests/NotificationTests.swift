import FaultHarness
import Foundation
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Notifications", .database(migrated: false), .usualTimeLimit) struct NotificationTests {
    @Test("A notification ends the wait") func endsWait() async throws {
        let listener = try await connect()
        let sender = try await connect()
        try await listener.execute(script: "LISTEN news")
        async let received = listener.run { try $0.notifications(waitingAtMost: .seconds(30)) }
        try await sender.execute("SELECT pg_notify('news', 'täglich'), pg_notify('others', '')")
        let notifications = try await received
        #expect(notifications.map(\.channel) == ["news"])
        #expect(notifications.map(\.payload) == ["täglich"])
        #expect(notifications.map(\.senderProcessIdentifier) == [sender.backendProcessIdentifier])
    }

    @Test("Notifications of another session arrive if this session listens, and only then") func onlyIfListening()
        async throws
    {
        let listener = try await connect()
        let parameters = try ConnectionParameters(url: TestDatabase.current.url)
        #expect(try await !listener.receivesNotification(on: "news", from: parameters))
        try await listener.execute(script: "LISTEN news")
        #expect(try await listener.receivesNotification(on: "news", from: parameters))
    }

    /// The parameters of a session that notifies through a proxy.
    private func sender() throws -> (ConnectionParameters, FaultProxy) {
        var sender = try ConnectionParameters(url: TestDatabase.current.loopbackURL)
        let proxy = try FaultProxy(serverPorts: [try #require(sender["port"].flatMap { UInt16($0) })])
        sender["port"] = "\(proxy.ports[0])"
        sender["sslmode"] = "disable"
        sender["gssencmode"] = "disable"
        sender["application_name"] = "sender of news"
        return (sender, proxy)
    }

    @Test(
        "A session that can connect but not notify is not waited for without a limit",
        .database(migrated: false, mostlyWaits: true))
    func senderThatCanNotNotify() async throws {
        let (sender, proxy) = try sender()
        defer { proxy.close() }
        let listener = try await connect()
        let request = proxy.nextStop(.beforeRequest) { $0.text.contains("pg_notify") }
        let test = Task {
            try await postgresError {
                _ = try await listener.receivesNotification(on: "news", from: sender, sendingWithin: .seconds(1))
            }
        }
        _ = try #require(await request.reached(within: .seconds(60)))
        let error = try await test.value(until: "the test of notifications ended", within: .seconds(60))
        #expect(error.code == .connectionFailed)
    }

    @Test(
        "A cancellation also stops the test of notifications while it looks for a pooler",
        .database(migrated: false, mostlyWaits: true))
    func cancelledLookForPooler() async throws {
        let (listener, proxy) = try await connectThroughProxy()
        defer { proxy.close() }
        let parameters = try ConnectionParameters(url: TestDatabase.current.url)
        let request = proxy.nextStop(.beforeRequest) { $0.text.contains("pg_backend_pid") }
        let test = Task {
            try await postgresError {
                _ = try await listener.receivesNotification(on: "news", from: parameters)
            }
        }
        _ = try #require(await request.reached(within: .seconds(60)))
        test.cancel()
        let error = try await test.value(until: "the test of notifications ended", within: .seconds(60))
        #expect(error.code == .cancelled)
    }

    @Test("The notification of a slow server is waited for", .database(migrated: false, mostlyWaits: true))
    func slowServer() async throws {
        let (sender, proxy) = try sender()
        defer { proxy.close() }
        let (listener, observer) = (try await connect(), try await connect())
        try await listener.execute(script: "LISTEN news")

        let request = proxy.nextStop(.beforeRequest) { $0.text.contains("pg_notify") }
        async let arrives = listener.receivesNotification(on: "news", from: sender)
        let notification = try #require(await request.reached(within: .seconds(60)))
        kill(listener.backendProcessIdentifier, SIGSTOP)
        defer { kill(listener.backendProcessIdentifier, SIGCONT) }
        notification.proceed()
        let sessions: SQL = "SELECT application_name FROM pg_stat_activity WHERE application_name = 'sender of news'"
        try await eventually(
            "the sender is gone, so that the wait has begun", read: { try await observer.query(sessions).count }
        ) {
            $0 == 0
        }
        // Longer than a notification may take that comes through a pooler.
        try await Task.sleep(for: .milliseconds(2_300))
        kill(listener.backendProcessIdentifier, SIGCONT)
        #expect(try await arrives)
    }

    @Test("A notification that arrives during a statement is kept") func keptDuringStatement() async throws {
        let connection = try await connect()
        try await connection.execute(script: "LISTEN news; LISTEN \"More news\"")
        try await connection.execute(script: "NOTIFY news; NOTIFY \"More news\", '1'")
        let received = try await connection.notifications(waitingAtMost: .zero)
        #expect(received.map(\.channel) == ["news", "More news"])
        #expect(received.map(\.payload) == ["", "1"])
        #expect(try await connection.notifications(waitingAtMost: .zero) == [])
    }

    @Test("Notifications that arrive during statements are kept up to a limit") func keptUpToLimit() async throws {
        let listener = try await connect()
        let sender = try await connect()
        try await listener.execute(script: "LISTEN news")
        try await sender.execute("SELECT pg_notify('news', 'n' || n) FROM generate_series(1, 5000) AS n")
        // The server sends notifications in their order, and a session's own one before the statement ends.
        try await listener.execute("SELECT pg_notify('news', 'last')")
        let received = try await listener.notifications(waitingAtMost: .zero)
        #expect(received.count == Connection.mostKeptNotifications)
        #expect(received.first?.payload == "n1")
    }

    @Test("A wait without a notification ends in time") func waitWithoutNotification() async throws {
        let connection = try await connect()
        let start = ContinuousClock.now
        #expect(try await connection.notifications(waitingAtMost: .milliseconds(100)) == [])
        #expect(start.duration(to: .now) >= .milliseconds(100))
    }

    @Test("A wake-up ends the current wait or the next wait") func wakeUpEndsWait() async throws {
        let connection = try await connect()
        let begun = Flag()
        let current = Task {
            try await connection.run { connection in
                begun.set()
                return try connection.notifications(waitingAtMost: .seconds(3_600))
            }
        }
        try await eventually("the wait begins") { begun.isSet }
        connection.wakeUp()
        let received = try await current.value(until: "the wake-up ended the current wait", within: .seconds(60))
        #expect(received == [])
        connection.wakeUp()
        _ = try await connection.query("SELECT 1")
        let next = try await withDeadline("the wake-up ended the next wait", within: .seconds(60)) {
            try await connection.run { try $0.notifications(waitingAtMost: .seconds(3_600)) }
        }
        #expect(next == [])
    }

    @Test("A cancelled task stops waiting for notifications") func cancelledWait() async throws {
        let connection = try await connect()
        let begun = Flag()
        let task = Task {
            try await connection.run { connection in
                begun.set()
                _ = try connection.notifications(waitingAtMost: .seconds(60))
            }
        }
        try await eventually("the wait begins") { begun.isSet }
        task.cancel()
        #expect(try await postgresError { try await task.value(until: "the cancelled wait ended") }.code == .cancelled)
        #expect(try await connection.query("SELECT 7")[0].decode(0) == 7)
    }
}
