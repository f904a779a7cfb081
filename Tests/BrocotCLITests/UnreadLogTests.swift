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

@Suite("Daemon whose log nobody reads", .usualTimeLimit) struct UnreadLogTests {
    @Test(
        "A daemon with a full log decides requests, connects again, and ends with 0 soon after SIGTERM", .database,
        arguments: ["text", "json"])
    func fullLog(format: String) async throws {
        let pipe = try LogPipe()
        pipe.fill()
        let connection = try await TestDatabase.current.connect()
        let (status, duration) = try await Self.runDaemon(["--log-format", format], log: pipe) {
            try await Self.decide("a", on: connection)
            // Each lost session is a line of the log.
            try await connection.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name LIKE 'brocot%' AND pid <> pg_backend_pid()
                """)
            try await Self.decide("b", on: connection)
        }
        #expect(status == .exited(0))
        // On a busy machine, the daemon's process may end somewhat later.
        #expect(duration < .seconds(14))
        #expect(pipe.drain().allSatisfy { $0 == "y" })
    }

    @Test(
        "A drain with a full log ends with 7 if only requests of a paused list are left", .database,
        arguments: ["text", "json"])
    func statusOfDrain(format: String) async throws {
        let pipe = try LogPipe()
        pipe.fill()
        try await TestDatabase.current.connect().execute(
            script: "SELECT brocot.pause('items', 'l'); SELECT brocot.move('l', 'a', last => true)")
        let (status, _) = try await Self.runDaemon(["--drain", "--log-format", format], log: pipe, isEnded: false) {}
        #expect(status == .exited(7))
    }

    /// Runs a daemon, and sends it SIGTERM after `body` unless it ends by itself.
    ///
    /// - Returns: how it ended, and how long that took.
    private static func runDaemon(
        _ options: [String], log: LogPipe, isEnded: Bool = true, _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> (TerminationStatus, Duration) {
        let url = TestDatabase.current.url
        return try await withDeadline("the daemon with a full log ended") {
            let result = try await Subprocess.run(
                .path(.init(BrocotProgram.path)), arguments: Arguments(["daemon"] + options),
                environment: .inherit.updating(["BROCOT_DATABASE_URL": url]), input: .none, output: .discarded,
                error: .fileDescriptor(.init(rawValue: log.writing), closeAfterSpawningProcess: false)
            ) { execution in
                do {
                    try await body()
                    if isEnded { try execution.send(signal: .terminate) }
                    return ContinuousClock.now
                } catch {
                    try execution.send(signal: .kill)
                    throw error
                }
            }
            return (result.terminationStatus, .now - result.closureResult)
        }
    }

    private static func decide(_ item: String, on connection: Connection) async throws {
        try await connection.execute("SELECT brocot.move('l', \(item), last => true)")
        try await eventually("the request for \(item) is decided") {
            try await !connection.query("SELECT FROM brocot.items WHERE item = \(item)").isEmpty
        }
    }
}
