import LibPQ
import Metrics
import Synchronization
import TestLimit
import TestPostgres
import Testing

@testable import Daemon

@Suite("Listener for notifications", .database, .usualTimeLimit) struct NotificationListenerTests {
    /// Runs `body` beside a listener and a worker that always waits. With `anotherWorks`, the daemon has another worker, which never waits. With
    /// `reasonNotReady`, the database can't be worked on. With `pollsRarely`, the listener does not poll until it is notified. `body` gets the number of times that the worker was woken.
    /// At the end the listener is asked to stop, or its task is cancelled.
    private func withListener(
        isCancelled: Bool = false, anotherWorks: Bool = false, pollsRarely: Bool = false, reasonNotReady: String? = nil,
        health: DaemonHealth = DaemonHealth(), recorder: LogRecorder = LogRecorder(),
        _ body: (Connection, _ wakeUps: () -> Int) async throws -> Void
    ) async throws {
        var configuration = DaemonConfiguration(connection: try ConnectionParameters(url: TestDatabase.current.url))
        configuration.workers = anotherWorks ? 2 : 1
        if pollsRarely { configuration.longestPollInterval = nil }
        if let reasonNotReady { configuration.checkReadiness = { _ in reasonNotReady } }
        let interruption = ListenerInterruption()
        let stopSignal = StopSignal()
        stopSignal.onSet { interruption.wakeUp() }
        let idleWorkers = IdleWorkers(workers: configuration.workers, stopSignal: stopSignal) { interruption.wakeUp() }
        let listener = NotificationListener(
            configuration: configuration, idleWorkers: idleWorkers, interruption: interruption,
            health: health.loop("the listener", .listener), metrics: DaemonMetrics(NOOPMetricsHandler.instance),
            logger: recorder.logger())
        let wakeUps = WakeUpCounter()
        let running = Task { await listener.run(until: stopSignal) }
        let worker = Task {
            while !stopSignal.isSet {
                await idleWorkers.wait()
                wakeUps.add()
            }
        }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(try await TestDatabase.current.observer) { wakeUps.count })
        } catch {
            result = .failure(error)
        }
        if isCancelled {
            running.cancel()
            try await running.value(until: "the listener ended, which was cancelled")
        }
        stopSignal.set()
        try await running.value(until: "the listener ended")
        try await worker.value(until: "the worker ended")
        try result.get()
    }

    private func isFlagSet(_ connection: Connection) async throws -> Bool {
        try await connection.query("SELECT pg_sequence_last_value('brocot.sleepers') IS NOT NULL").single().decode(0)
    }

    /// Waits until a listener that polls rarely sends no queries any more. Before, its polls are at most 1.5 s apart.
    private func waitUntilItRests(_ connection: Connection) async throws {
        // Until an id is handed out, the polls can't tell whether a transaction is about to insert a request, and go on.
        try await connection.execute("SELECT brocot.next_request_id()")
        try await eventually(
            "the listener is silent for 4 s", within: .seconds(120),
            read: {
                // While the listener has no session, it does not rest.
                try await connection.query(
                    """
                    SELECT coalesce(extract(epoch FROM clock_timestamp() - max(query_start)), 0)::bigint FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name LIKE 'brocot daemon %'
                    """
                ).single().decode(0, as: Int.self)
            }, until: { $0 >= 4 })
    }

    @Test(
        "The listener sets the sleep flag while all workers wait, and clears it at the end and notifies other daemons")
    func flag() async throws {
        let other = try await TestDatabase.current.connect()
        try await other.execute(script: "LISTEN brocot_move_requests")
        try await withListener { connection, _ in
            try await eventually("the flag is set") { try await isFlagSet(connection) }
        }
        #expect(try await !isFlagSet(TestDatabase.current.observer))
        // The listener's test of the delivery has another payload.
        var payloads: [String] = []
        try await eventually("other daemons are notified") {
            payloads += try await other.notifications(waitingAtMost: .milliseconds(10)).map(\.payload)
            return payloads
        } until: {
            $0.contains("")
        }
    }

    @Test("The listener clears the sleep flag when its task is cancelled")
    func flagAfterCancellation() async throws {
        try await withListener(isCancelled: true) { connection, _ in
            try await eventually("the flag is set") { try await isFlagSet(connection) }
        }
        #expect(try await !isFlagSet(TestDatabase.current.observer))
    }

    @Test(
        "The listener wakes a worker when a request is inserted, and does not while nothing is pending",
        .database(mostlyWaits: true))
    func wakeUp() async throws {
        try await withListener(pollsRarely: true) { connection, wakeUps in
            try await eventually("the flag is set") { try await isFlagSet(connection) }
            let before = wakeUps()
            // Until then it polls. Afterwards only a notification tells it of a request.
            try await waitUntilItRests(connection)
            #expect(wakeUps() == before)
            try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
            try await eventually("a worker is woken", read: wakeUps) { $0 > before }
        }
    }

    @Test(
        "The listener wakes a worker again and again while another one works without deciding anything, as in a user's trigger that waits"
    )
    func silence() async throws {
        try await withListener(anotherWorks: true) { connection, wakeUps in
            try await eventually("a worker is woken", read: wakeUps, until: { $0 >= 3 })
            #expect(try await !isFlagSet(connection))
        }
    }

    @Test("The listener finds a request whose INSERT notified nobody")
    func silentRequest() async throws {
        try await withListener { connection, wakeUps in
            try await eventually("the flag is set") { try await isFlagSet(connection) }
            let before = wakeUps()
            try await connection.execute(
                script: "SET brocot.wake_daemons = off; SELECT brocot.move('l', 'a', last => true)")
            try await eventually("a worker is woken", read: wakeUps) { $0 > before }
        }
    }

    @Test(
        "The listener connects again after its session was ended, and still wakes workers", .database(mostlyWaits: true)
    )
    func lostConnection() async throws {
        try await withListener(pollsRarely: true) { connection, wakeUps in
            try await eventually("the flag is set") { try await isFlagSet(connection) }
            let ended = try await connection.query(
                """
                SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name LIKE 'brocot daemon %'
                """)
            #expect(try ended.map { try $0.decode(0, as: Bool.self) } == [true])
            // The listener wakes a worker when it loses its connection too. When it rests, that is over, and it polls no more.
            try await waitUntilItRests(connection)
            let before = wakeUps()
            try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
            try await eventually("a worker is woken for the request", read: wakeUps) { $0 > before }
        }
    }

    @Test("A listener that does not poll until it is notified still notices that the server no longer refuses polls")
    func readyAgain() async throws {
        let (health, recorder) = (DaemonHealth(), LogRecorder())
        let other = try await TestDatabase.current.connect()
        try await withListener(pollsRarely: true, health: health, recorder: recorder) { connection, _ in
            try await eventually("the listener is ready", read: { health.reasonNotReady }) { $0 == nil }
            try await other.execute(script: "BEGIN; LOCK TABLE brocot.move_requests")
            try await connection.execute("NOTIFY brocot_move_requests")
            try await eventually("a poll was refused") { health.reasonNotReady != nil }
            try await other.execute(script: "COMMIT")
            try await eventually(
                "the listener is ready again", within: .seconds(30), read: { health.reasonNotReady },
                until: { $0 == nil })
            let end = try #require(
                recorder.entries.last { $0.message == "the query for new requests works again" })
            let seconds = try #require(end.metadata["seconds"].flatMap { Int("\($0)") })
            #expect((0...20).contains(seconds))
        }
    }

    @Test(
        "While the server refuses polls, the reason why the database can't be worked on is shown, if it is known, and not the server's error"
    )
    func reasonNotReady() async throws {
        let (health, recorder) = (DaemonHealth(), LogRecorder())
        try await withListener(reasonNotReady: "no schema", health: health, recorder: recorder) { connection, _ in
            try await connection.execute("ALTER TABLE brocot.move_requests RENAME TO requests")
            try await eventually("a poll was refused", read: { recorder.entries.map(\.message) }) { messages in
                messages.contains { $0.hasPrefix("the server refuses the query for new requests") }
            }
            #expect(health.reasonNotReady == "the listener: no schema")
        }
    }
}

private final class WakeUpCounter: Sendable {
    private let value = Atomic(0)

    var count: Int { value.load(ordering: .relaxed) }

    func add() { value.add(1, ordering: .relaxed) }
}
