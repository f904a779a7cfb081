import LibPQ
import Synchronization
import Logging
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Checks of the server by brocot doctor", .usualTimeLimit) struct DoctorServerTests {
    @Test("brocot doctor fails in a database that takes text of any encoding", .database)
    func anyEncoding() async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        let name = database.name + "_ascii"
        try await connection.execute(
            "CREATE DATABASE \(identifier: name) TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
        let results = try await examination(url: database.cluster.url(database: name))
        try await connection.execute("DROP DATABASE \(identifier: name) WITH (FORCE)")
        let result = try #require(results.first { $0.check == "encoding" })
        #expect(result.level == .fail && result.message.hasPrefix("SQL_ASCII"))
    }

    @Test("brocot doctor warns of a time-out that ends a daemon's idle sessions", .database)
    func idleSessionTimeout() async throws {
        let database = TestDatabase.current
        try await database.observer.execute(
            "ALTER DATABASE \(identifier: database.name) SET idle_session_timeout = '5s'")
        let results = try await examination()
        #expect(results.allSatisfy { $0.failureKind == nil })
        let result = try #require(results.first { $0.check == "time-outs" })
        #expect(result.level == .warn && result.message.contains("idle for 5.0 s"))
        #expect(result.advice == #"ALTER ROLE "postgres" SET idle_session_timeout = 0;"#)
    }

    @Test(
        "brocot doctor warns of a lock table without room for a daemon's lists",
        .database(
            on: .own(settings: [
                "max_locks_per_transaction": "10", "max_connections": "40", "max_prepared_transactions": "0",
            ])))
    func lockTable() async throws {
        let fixture = try await AttachFixture(AttachFixture.partitionedTasks)
        let before = try #require(try await examination().first { $0.check == "lock table" })
        #expect(before.message == "has room for 400 locks, and each worker of a daemon may take 300")
        try await fixture.attach()
        let results = try await examination()
        #expect(results.allSatisfy { $0.failureKind == nil })
        let result = try #require(results.first { $0.check == "lock table" })
        #expect(
            result.level == .warn && result.message.contains("may take 306 because a batch may use 2 partitions"))
    }

    @Test(
        "brocot doctor fails if autovacuum is off on the server", .database(on: .own(settings: ["autovacuum": "off"])))
    func autovacuumOff() async throws {
        let results = try await examination()
        #expect(results.compactMap(\.failureKind).allSatisfy { $0 == .needsRepair })
        let failures = results.filter { $0.level == .fail }
        #expect(failures.map(\.message) == ["off on this server: autovacuum"])
    }

    @Test("brocot doctor reports each result before it begins the next check", .database)
    func report() async throws {
        let owner = try await TestDatabase.current.connect()
        // The check of the tables' locks sees this lock, and later checks wait for it.
        try await owner.execute(script: "BEGIN; LOCK brocot.ordered_tables")
        let doctor = Doctor(
            parameters: try ConnectionParameters(url: TestDatabase.current.url), role: .daemon,
            oldTransaction: .seconds(900),
            logger: .silent)
        let reported = Mutex<[String]>([])
        async let results = doctor.examine { result in reported.withLock { $0.append(result.check) } }
        try await TestDatabase.current.waitUntilSomeSession(waitsFor: owner)
        #expect(reported.withLock { $0 }.contains("table locks"))
        try await owner.execute(script: "ROLLBACK")
        let names = await results.map { $0.check }
        #expect(names == reported.withLock { $0 })
    }

    @Test(
        "brocot doctor warns of a notification queue that is more than half full, and names the way out",
        arguments: [(0, false), (50, false), (51, true)])
    func notificationQueue(percent: Int, isWarned: Bool) {
        let warning = Doctor.warning(ofNotificationQueue: percent)
        #expect((warning?.level == .warn) == isWarned)
        #expect((warning?.message.contains("\(percent) % full") == true) == isWarned)
        #expect((warning?.advice?.contains("SET brocot.wake_daemons = off") == true) == isWarned)
    }

    @Test("brocot doctor reports that a role can't see the sessions of other roles", .database)
    func hiddenSessions() async throws {
        let owner = try await TestDatabase.current.connect()
        let results = try await TestRole.with("blind", owner: owner) { try await examination(url: $0.url) }
        #expect(results.first { $0.check == "dead rows" }?.message.contains("pg_monitor sees all sessions") == true)
    }

    @Test(
        "brocot doctor names sessions and prepared transactions that keep vacuum from removing dead rows",
        .database(on: .own()))
    func horizon() async throws {
        let holding = try await TestDatabase.current.connect()
        let preparing = try await TestDatabase.current.connect()
        try await holding.execute(script: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        try await preparing.execute(script: "BEGIN; CREATE TABLE public.x (); PREPARE TRANSACTION 'forgotten'")
        let results = try await examination(oldTransaction: .milliseconds(1))
        #expect(results.allSatisfy { $0.failureKind == nil })
        let horizon = try #require(results.first { $0.check == "dead rows" })
        #expect(horizon.level == .warn)
        #expect(horizon.message.contains("session pid \(holding.backendProcessIdentifier), user postgres"))
        #expect(horizon.message.contains("idle in transaction"))
        #expect(horizon.message.contains("prepared 'forgotten'"))
    }

    @Test(
        "brocot doctor does not blame transactions of another database, nor a VACUUM, for dead rows",
        .database(on: .own()))
    func harmlessTransactions() async throws {
        let database = TestDatabase.current
        let vacuuming = try await database.connect()
        let other = try await TestDatabase.connect(to: await database.cluster.url(database: "postgres"))
        for preparation in ["PREPARE TRANSACTION 'elsewhere'", "SELECT 1"] {
            try await other.execute(
                script: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id(); \(preparation)")
        }
        try await vacuuming.execute(
            script: """
                CREATE TABLE public.bulky AS SELECT repeat('x', 1000) FROM generate_series(1, 5000);
                SET vacuum_cost_limit = 1; SET vacuum_cost_delay = 100;
                """)
        let vacuum = Task { try await vacuuming.execute("VACUUM public.bulky") }
        try await eventually("the VACUUM runs") {
            try await !database.observer.query("SELECT FROM pg_stat_progress_vacuum").isEmpty
        }
        let horizon = try await examination(oldTransaction: .zero).first { $0.check == "dead rows" }
        #expect(try await !database.observer.query("SELECT FROM pg_stat_progress_vacuum").isEmpty)
        try await database.observer.execute("SELECT pg_cancel_backend(\(vacuuming.backendProcessIdentifier))")
        _ = try await vacuum.result(until: "the cancelled VACUUM ended")
        try await other.execute("ROLLBACK")
        try await other.execute("ROLLBACK PREPARED 'elsewhere'")
        await other.close()
        #expect(horizon?.level == .ok, "\(String(describing: horizon))")
    }
}
