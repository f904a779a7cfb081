import LibPQ
import MoveQueue
import TestLimit
import TestPostgres
import Testing

/// How daemons use the sleep flag.
@Suite("Sleep of a daemon", .database, .usualTimeLimit) struct DaemonSleepTests {
    @Test("INSERTs notify a sleeping daemon, and notify nobody after it stops")
    func sleepsAndStops() async throws {
        let listener = try await TestDatabase.current.connect()
        try await listener.execute(script: "LISTEN brocot_move_requests")
        /// Whether an INSERT of this session notifies. The answer to a statement comes with all notifications until then.
        let notifies = { @Sendable (item: String) async throws -> Bool in
            _ = try await listener.query("SELECT")
            _ = try await listener.notifications(waitingAtMost: .zero)
            try await listener.execute("SELECT brocot.move('l', \(item), last => true)")
            return try await listener.notifications(waitingAtMost: .zero)
                .contains { $0.senderProcessIdentifier == listener.backendProcessIdentifier }
        }
        try await RunningBrocot.withDaemon { _ in
            try await waitUntil(aDaemonSleeps: true)
            #expect(try await notifies("a"))
        }
        #expect(try await aDaemonSleeps() == false)
        #expect(try await !notifies("b"))
    }

    @Test("A sleeping daemon sets the sleep flag again after another daemon cleared it")
    func flagClearedByAnotherDaemon() async throws {
        try await RunningBrocot.withDaemon { _ in
            try await waitUntil(aDaemonSleeps: true)
            try await TestDatabase.current.observer.execute("SELECT setval('brocot.sleepers', 1, false)")
            try await waitUntil(aDaemonSleeps: true)
        }
    }

    @Test("A daemon that has much work clears the sleep flag that a killed daemon left, and sets it again afterwards")
    func clearsWhileBusy() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE FUNCTION rest() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.05); RETURN NULL; END';
                CREATE TRIGGER rest AFTER INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION rest();
                SELECT setval('brocot.sleepers', 1, true)
                """)
        try await RunningBrocot.withDaemon { _ in
            // The daemon always has work of a second.
            try await eventually("the busy daemon has cleared the flag") {
                try await connection.execute(
                    """
                    SELECT brocot.move('l' || n, clock_timestamp()::text, last => true) FROM generate_series(1, 10) AS n
                    WHERE (SELECT count(*) FROM brocot.move_requests) < 20
                    """)
                return try await aDaemonSleeps()
            } until: {
                !$0
            }
            try await waitUntil(aDaemonSleeps: true)
        }
    }

    @Test("A daemon whose role only reads by default applies requests, and sets the sleep flag")
    func readsByDefault() async throws {
        let owner = try await TestDatabase.current.observer
        try await GrantedRole.with(.daemon, owner: owner) { roles in
            try await owner.execute(
                "ALTER ROLE \(identifier: roles[0].name) SET default_transaction_read_only = on")
            try await RunningBrocot.withDaemon(databaseURL: roles[0].url) { _ in
                try await waitUntil(aDaemonSleeps: true)
                try await owner.execute("SELECT brocot.move('l', 'a', last => true)")
                try await expectApplied(1, on: owner)
                try await waitUntil(aDaemonSleeps: true)
            }
        }
        #expect(try await owner.query("SELECT FROM brocot.items").count == 1)
        #expect(try await aDaemonSleeps() == false)
    }

    @Test("A sleeping daemon applies the request of a prepared transaction that notified nobody")
    func preparedTransaction() async throws {
        let name = "move_of_\(TestDatabase.current.name)"
        try await RunningBrocot.withDaemon { _ in
            try await waitUntil(aDaemonSleeps: true)
            let connection = try await TestDatabase.current.connect()
            try await connection.execute(
                script: """
                    SET brocot.wake_daemons = off;
                    BEGIN; SELECT brocot.move('l', 'a', last => true); PREPARE TRANSACTION '\(name)'
                    """)
            try await connection.execute("COMMIT PREPARED \(literal: name)")
            try await expectApplied(1, on: connection)
        }
    }
}

/// These tests wait for many seconds, and hardly use the processor.
@Suite("Rest of a daemon without polls", .database(mostlyWaits: true), .usualTimeLimit) struct DaemonRestTests {
    @Test("A daemon with --poll-interval 0 sends no queries while idle, and applies later requests")
    func longRest() async throws {
        let connection = try await TestDatabase.current.observer
        try await connection.execute("SELECT brocot.move('l', 'first', last => true)")
        try await RunningBrocot.withDaemon(["--poll-interval", "0"]) { _ in
            try await expectApplied(1, on: connection)
            // A daemon that still polls the queue, only less often, would poll within this time.
            try await eventually(
                "the daemon's sessions are silent for 6 s", within: .seconds(120),
                read: { try await Self.secondsSinceLastQuery(connection) }, until: { $0 > 6 })
            try await connection.execute("SELECT brocot.move('l', 'second', last => true)")
            try await expectApplied(2, on: connection)
            #expect(try await connection.query("SELECT FROM brocot.items").count == 2)
        }
    }

    @Test("A daemon with --poll-interval 0 applies a request that was made before its sleep and committed later")
    func longRestAfterLateCommit() async throws {
        let connection = try await TestDatabase.current.observer
        try await connection.execute("SELECT brocot.move('l', 'first', last => true)")
        let early = try await TestDatabase.current.connect()
        try await early.execute(script: "BEGIN; SELECT brocot.move('l', 'second', last => true)")
        try await RunningBrocot.withDaemon(["--poll-interval", "0"]) { _ in
            try await expectApplied(1, on: connection)
            try await waitUntil(aDaemonSleeps: true)
            // Without the open transaction, the daemon would rest when its polls are so far apart.
            try await Self.wait(forPolls: 4, at: 1_400, connection)
            try await early.execute(script: "COMMIT")
            try await expectApplied(2, on: connection)
            #expect(try await connection.query("SELECT FROM brocot.items").count == 2)
        }
    }

    @Test("A daemon that rests sets the sleep flag again after another daemon stopped and cleared it")
    func anotherDaemonStops() async throws {
        let connection = try await TestDatabase.current.observer
        try await connection.execute("SELECT brocot.move('l', 'first', last => true)")
        try await RunningBrocot.withDaemon(["--poll-interval", "0"]) { _ in
            try await expectApplied(1, on: connection)
            try await eventually(
                "the daemon's sessions are silent for 4 s", within: .seconds(120),
                read: { try await Self.secondsSinceLastQuery(connection) }, until: { $0 > 4 })
            // The test does what a daemon does at its end. A real daemon would also wake the resting daemon at its
            // start.
            try await SleepFlag.clearAtEnd(on: connection)
            try await waitUntil(aDaemonSleeps: true)
        }
    }

    /// Waits until this many polls began, each at least this many milliseconds after the one before.
    private static func wait(forPolls count: Int, at milliseconds: Int64, _ connection: Connection) async throws {
        var polls: [Int64] = []
        try await eventually(
            "\(count) polls are \(milliseconds) ms apart", within: .seconds(120), pause: .milliseconds(20),
            read: {
                let begin: Int64 = try await connection.query(
                    """
                    SELECT (extract(epoch FROM max(query_start)) * 1000)::bigint FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name LIKE 'brocot daemon %'
                    """
                ).single().decode(0)
                if begin != polls.last { polls.append(begin) }
                return zip(polls, polls.dropFirst()).filter { $1 - $0 >= milliseconds }.count
            }, until: { $0 >= count })
    }

    private static func secondsSinceLastQuery(_ connection: Connection) async throws -> Int {
        try await connection.query(
            """
            SELECT extract(epoch FROM clock_timestamp() - max(query_start))::bigint FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'brocot%'
            """
        ).single().decode(0)
    }
}

private func aDaemonSleeps() async throws -> Bool {
    try await TestDatabase.current.observer.query("SELECT a_daemon_sleeps FROM brocot.queue_status").single().decode(0)
}

/// Waits until the daemons have set the sleep flag, or cleared it.
func waitUntil(aDaemonSleeps wanted: Bool) async throws {
    try await eventually(
        "enqueuers are told whether a daemon sleeps: \(wanted)", within: .seconds(120),
        read: { try await aDaemonSleeps() }, until: { $0 == wanted })
}
