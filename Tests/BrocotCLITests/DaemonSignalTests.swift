import FaultHarness
import FoundationEssentials
import LibPQ
import Subprocess
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A daemon must end no matter what it waits for, within the 10 s that operators are promised. `withDaemon` sends SIGTERM after its body, and
/// expects that. The tests allow more: ``RunningBrocot/waitUntilItHasEnded()`` says why.
@Suite("Daemons that get a signal to end", .usualTimeLimit) struct DaemonSignalTests {
    @Test(
        "A daemon ends with 0 soon after SIGTERM during a slow statement, which is rolled back",
        .database(mostlyWaits: true))
    func slowStatement() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
                CREATE TRIGGER sleep AFTER INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION sleep();
                """)
        try await RunningBrocot.withDaemon { _ in
            try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
            try await eventually("the statement runs") { try await !connection.query(Self.sleeping).isEmpty }
        }
        try await eventually("the statement is over") { try await connection.query(Self.sleeping).isEmpty }
        let counts = try await connection.query(
            """
            SELECT (SELECT count(*) FROM brocot.move_requests), (SELECT count(*) FROM brocot.items),
                (SELECT count(*) FROM brocot.move_log)
            """
        ).single()
        #expect(try [counts.decode(0), counts.decode(1), counts.decode(2)] == [1, 0, 0])
    }

    @Test(
        "A daemon ends with 0 soon after SIGTERM while a COMMIT waits for a synchronous standby, and does not end that wait",
        .database(on: .withMissingStandby, mostlyWaits: true))
    func missingStandby() async throws {
        let connection = try await TestDatabase.current.connect()
        let url = "\(TestDatabase.current.url)&options=-c%20synchronous_commit%3Don"
        try await RunningBrocot.withDaemon(databaseURL: url) { _ in
            try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
            try await eventually("COMMIT waits") { try await !connection.query(Self.waitingForStandby).isEmpty }
        }
        #expect(try await connection.query(Self.waitingForStandby).count == 1)
    }

    @Test(
        "While a COMMIT waits for a synchronous standby, the worker begins no other, and goes on when the wait is over",
        .database(on: .withMissingStandby, mostlyWaits: true))
    func oneWaitForStandby() async throws {
        let connection = try await TestDatabase.current.connect()
        let url = "\(TestDatabase.current.url)&options=-c%20synchronous_commit%3Don"
        let printed = PrintedText()
        try await RunningBrocot.withDaemon(
            ["--workers", "1", "--idle-timeout", "1"], databaseURL: url, printing: printed
        ) { _ in
            try await connection.execute(
                "SELECT count(brocot.move('list ' || n, 'a', last => true)) FROM generate_series(1, 3) AS n")
            // The first COMMIT got no answer in time, and the worker has a new connection.
            try await eventually("the worker says what it waits for", read: { printed.text }) {
                $0.contains("waits for a synchronous standby")
            }
            try await connection.execute("SELECT brocot.move('list 4', 'a', last => true)")
            var questions: Set<String> = []
            try await eventually("the worker has asked four times whether the wait is over") {
                questions.formUnion(
                    try await connection.query(Self.questionsOfWorker).map { try $0.decode(0, as: String.self) })
                return questions
            } until: {
                $0.count == 4
            }
            let process = try await connection.query(Self.waitingForStandby).single().decode(0, as: Int32.self)
            try await connection.execute("SELECT pg_terminate_backend(\(process))")
            try await eventually("the worker decides further requests, and this COMMIT waits too") {
                try await connection.query(Self.waitingForStandby).map { try $0.decode(0, as: Int32.self) }
            } until: {
                $0.contains { $0 != process }
            }
            try await eventually("what was committed first is there") {
                try await !connection.query("SELECT FROM brocot.items").isEmpty
            }
        }
    }

    @Test(
        "A daemon ends with 0 soon after SIGTERM if the server stops answering, while idle or at work",
        .database(mostlyWaits: true), arguments: [0, 1_000])
    func silentServer(requests: Int) async throws {
        let (proxy, url) = try FaultProxy.beforeTestDatabase()
        defer { proxy.close() }
        let connection = try await TestDatabase.current.connect()
        try await RunningBrocot.withDaemon(databaseURL: url) { _ in
            let stop = proxy.nextStop(.beforeAnswer) { statement in requests > 0 && statement.isInTransaction }
            try await connection.execute(
                """
                INSERT INTO brocot.move_requests (list, items, placement)
                SELECT 'l' || n, ARRAY['a'], 'last' FROM generate_series(1, \(requests)) AS n
                """)
            if requests > 0 { #expect(await stop.reached(within: .seconds(60)) != nil) }
            proxy.freeze()
        }
    }

    @Test(
        "A daemon ends with 0 soon after SIGTERM while it connects to a server that never answers",
        .database(mostlyWaits: true))
    func serverNeverAnswers() async throws {
        let (proxy, url) = try FaultProxy.beforeTestDatabase()
        defer { proxy.close() }
        proxy.freeze()
        try await RunningBrocot.withDaemon(["--http", "127.0.0.1:0"], until: "answering HTTP", databaseURL: url) {
            daemon in
            try await daemon.waitUntilItHandles(SIGTERM)
        }
    }

    @Test("A daemon ends with 0 soon after SIGTERM while the server is down", .database)
    func stoppedServer() async throws {
        let (proxy, url) = try FaultProxy.beforeTestDatabase()
        defer { proxy.close() }
        let printed = PrintedText()
        try await RunningBrocot.withDaemon(databaseURL: url, printing: printed) { _ in
            proxy.close()
            try await eventually(
                "the daemon says that it lost its connection", read: { printed.text },
                until: { $0.contains("lost") })
        }
    }

    @Test(
        "A second signal changes nothing: the daemon finishes its transaction, and ends with 0", .database,
        arguments: [SIGTERM, SIGINT])
    func secondSignal(second: Int32) async throws {
        let connection = try await TestDatabase.current.connect()
        let printed = PrintedText()
        let exitCode = try await RunningBrocot.run(
            ["daemon", "--http", "127.0.0.1:0", "--log-format", "json"], in: "/tmp",
            until: #""message":"connected""#, databaseURL: TestDatabase.current.url, printing: printed
        ) { daemon in
            let request = try await StuckRequest()
            try await request.waitUntilItIsTried()
            daemon.send(SIGTERM)
            try await eventually("the daemon has taken the first signal") {
                try await connection.query(Self.listening).isEmpty
            }
            daemon.send(second)
            try await request.release()
            try await daemon.waitUntilItHasEnded()
        }
        #expect(exitCode == 0)
        // On a busy machine, the time limit of a statement may be over before the request is released.
        let isFinished = try await connection.query("SELECT FROM brocot.items").count == 1
        #expect(isFinished || printed.text.contains("statement timeout"), "\(printed.text)")
    }

    @Test("A daemon without a terminal ignores SIGHUP", .database)
    func hangup() async throws {
        let connection = try await TestDatabase.current.connect()
        try await RunningBrocot.withDaemon { daemon in
            daemon.send(SIGHUP)
            try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
            try await eventually("the item is there") {
                try await !connection.query("SELECT FROM brocot.items").isEmpty
            }
        }
    }

    @Test(
        "A daemon ends with 0 when its terminal hangs up", .database,
        .enabled(if: FileManager.default.isExecutableFile(atPath: terminal)))
    func hangupOfTerminal() async throws {
        let url = TestDatabase.current.url
        let status = try await withDeadline("the daemon ended after its terminal") {
            try await Subprocess.run(
                .path(.init(Self.terminal)),
                arguments: [
                    "--quiet", "--return", "--flush", "--command", "exec \(BrocotProgram.path) daemon", "/dev/null",
                ],
                environment: .inherit.updating(["BROCOT_DATABASE_URL": url]), input: .none,
                output: .sequence, error: .discarded
            ) { execution in
                for try await line in execution.standardOutput.strings() where line.contains("connected") {
                    let parent = execution.processIdentifier.value
                    let children = try String(
                        contentsOfFile: "/proc/\(parent)/task/\(parent)/children", encoding: .utf8)
                    for child in children.split(separator: " ").compactMap({ pid_t($0) }) { kill(child, SIGHUP) }
                }
            }.terminationStatus
        }
        #expect(status.isSuccess)
    }

    @Test("A daemon ends with 0 if nobody reads its log any more", .database)
    func nobodyReads() async throws {
        try await withTemporaryFolder { folder in
            let url = TestDatabase.current.url
            let (output, status) = try await withDeadline("the daemon ended without a reader of its log") {
                let result = try await Subprocess.run(
                    .path("/bin/sh"),
                    arguments: [
                        "-c",
                        """
                        mkfifo log; "$0" daemon 2>log & daemon=$!
                        head -n 1 log | grep connected; kill -TERM $daemon; wait $daemon
                        """, BrocotProgram.path,
                    ], environment: .inherit.updating(["BROCOT_DATABASE_URL": url]),
                    workingDirectory: .init(folder), output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
                return (result.standardOutput, result.terminationStatus)
            }
            #expect(output.contains("connected"))
            #expect(status.isSuccess, "\(status)")
        }
    }

    // MARK: Steps

    private static let terminal = "/usr/bin/script"
    /// The session that keeps the daemon's name and listens. The daemon closes it when it begins to end.
    private static let listening: SQL = """
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'brocot daemon%'
        """
    private static let waitingForStandby: SQL = """
        SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'
        """
    /// When a worker began to ask whether a COMMIT still waits for a standby.
    private static let questionsOfWorker: SQL = """
        SELECT query_start::text FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'brocot' AND query LIKE '%SyncRep%'
        """
    private static let sleeping: SQL = """
        SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event = 'PgSleep' AND application_name = 'brocot'
        """
}
