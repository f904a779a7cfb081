import Daemon
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite(
    "Boards whose trigger ends the daemon's session or never returns", .database, .serialized,
    .usualTimeLimit)
struct SessionEndingTriggerTests {
    /// The daemon meets each of these boards once, and loses a session or waits each time.
    private static let boards = 20
    /// What a trigger does, the time-out of the daemon's idle transactions (nil: the usual one), and how long 99 of 100 moves of healthy
    /// boards may take on a busy machine.
    ///
    /// The time-out of statements is twice this time-out. It is short only where a trigger never returns: on a busy machine, a daemon in
    /// the process of the tests can have to wait for a thread, and then the server would end its session.
    private static let triggers: [(trigger: String, idleTimeout: Duration?, bound: Duration)] = [
        ("PERFORM pg_terminate_backend(pg_backend_pid())", nil, .seconds(15)),
        ("PERFORM set_config('exit_on_error', 'on', true); RAISE EXCEPTION 'no'", nil, .seconds(15)),
        ("PERFORM pg_sleep(600)", .seconds(5), .seconds(30)),
    ]

    /// Runs a daemon while `body` runs.
    private func withDaemon(idleTimeout: Duration?, _ body: () async throws -> Void) async throws {
        let parameters = try ConnectionParameters(url: TestDatabase.current.url)
        var configuration = DaemonConfiguration(connection: parameters)
        if let idleTimeout { configuration.queue.idleTimeout = idleTimeout }
        let daemon = Daemon(configuration, logger: .silent)
        try await whileRunning("the daemon", { try await daemon.run() }, body)
    }

    @Test("A trigger that ends the daemon's session or never returns delays no other board", arguments: triggers)
    func ending(trigger: String, idleTimeout: Duration?, bound: Duration) async throws {
        let connection = try await TestDatabase.current.connect()
        try await Boards.fill(trigger, bad: Self.boards, on: connection)
        try await withDaemon(idleTimeout: idleTimeout) {
            try await Boards.moveGoodCards(on: connection)
            #expect(try await connection.query("SELECT FROM brocot.move_requests").count == Self.boards)
            try await connection.execute(script: "DROP TRIGGER misbehave ON cards")
            try await TestDatabase.current.waitUntilAllRequestsAreDecided()
        }
        #expect(try await Boards.slowestUsualMove(on: connection) < bound)
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
    }
}
