import LibPQ
import Logging
import Metrics
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Daemon
@testable import MoveQueue

@Suite("A worker of a daemon", .usualTimeLimit) struct WorkerTests {
    private let stopSignal = StopSignal()
    private let recorder = LogRecorder()

    private func worker(_ idleWorkers: IdleWorkers) throws -> Worker {
        let configuration = DaemonConfiguration(connection: try ConnectionParameters(url: TestDatabase.current.url))
        return Worker(
            number: 1, configuration: configuration, idleWorkers: idleWorkers, stopSignal: stopSignal,
            statistics: DaemonStatistics(), health: DaemonHealth().loop("worker 1", .worker),
            metrics: DaemonMetrics(NOOPMetricsHandler.instance),
            logger: recorder.logger())
    }

    private func idleWorkers() -> IdleWorkers { IdleWorkers(workers: 2, stopSignal: stopSignal, onAllWaiting: {}) }

    /// Whether this makes a worker go on that waits.
    private func wakesAnother(_ body: (inout WorkerSession) async throws -> Void) async throws -> Bool {
        let idleWorkers = idleWorkers()
        let worker = try worker(idleWorkers)
        var session = try await WorkerSession(
            worker, on: TestDatabase.current.connect(), WorkerMemory(worker.logger, drains: false))
        let waiting = Task { await idleWorkers.wait() }
        try await eventually("the other worker waits", read: { idleWorkers.waitingCount }) { $0 == 1 }
        defer { waiting.cancel() }
        try await body(&session)
        return idleWorkers.waitingCount == 0
    }

    @Test(
        "A worker wakes another one if its batch leaves work for two, if lists failed, and if a whole batch failed",
        .commonMigratedDatabase)
    func wakeUps() async throws {
        func report(_ requests: Int, failures: [ListFailure] = []) -> BatchReport {
            var report = BatchReport()
            (report.decisions.applied, report.decisions.failures) = (requests, failures)
            return report
        }
        let failures = [ListFailure(list: "l", error: .settingsChanged)]
        #expect(try await !wakesAnother { try await $0.report(.decided(report(255)), after: .zero) })
        #expect(try await wakesAnother { try await $0.report(.decided(report(256)), after: .zero) })
        #expect(try await !wakesAnother { try await $0.report(.undecided(report(0)), after: .zero) })
        #expect(try await wakesAnother { try await $0.report(.undecided(report(0, failures: failures)), after: .zero) })
        let failure = BatchFailure(.settingsChanged, lists: ["l"])
        #expect(try await wakesAnother { session in _ = try await session.goOn(after: failure) })
    }

    @Test("A worker whose session is ended by a list's trigger logs the list, and goes on with the others", .database)
    func suspectedList() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
                CREATE TRIGGER end_session AFTER INSERT ON brocot.items FOR EACH ROW WHEN (NEW.list = 'bad')
                    EXECUTE FUNCTION end_session();
                SELECT brocot.move('bad', 'a', last => true)
                """)
        let worker = try worker(idleWorkers())
        let running = Task { await worker.run() }
        let losses = try await eventually(
            "the worker has lost its connection",
            read: { recorder.entries.filter { $0.message == "lost the connection; trying again" } },
            until: { !$0.isEmpty })
        #expect(losses[0].metadata["list"] == "\(ListIdentifier("bad"))")
        try await connection.execute("SELECT brocot.move('good', 'b', last => true)")
        worker.idleWorkers.wakeOne()
        try await eventually("the other list is done") {
            try await !connection.query("SELECT FROM brocot.items WHERE list = 'good'").isEmpty
        }
        stopSignal.set()
        #expect(try await running.value(until: "the worker ended") == nil)
    }
}
