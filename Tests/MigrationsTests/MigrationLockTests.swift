import LibPQ
import Synchronization
import TestLimit
import TestPostgres
import Testing

@testable import Migrations

@Suite("Locks of migrations", .database(migrated: false), .usualTimeLimit) struct MigrationLockTests {
    private static let lock: SQL = "SELECT pg_advisory_lock(\(MigrationQueries.lock.key))"
    private static let unlock: SQL = "SELECT pg_advisory_unlock(\(MigrationQueries.lock.key))"

    /// Waits until migrators have not got the lock. Each first ends a transaction that reads the status, and then one for each attempt. The end
    /// of a transaction is shown until the next one begins.
    private func waitUntilMigratorsWait(_ count: Int = 1) async throws {
        let observer = try await TestDatabase.current.observer
        var ends: [Int: Set<String>] = [:]
        try await eventually(
            "\(count) migrators have tried to get the lock", pause: .milliseconds(5),
            read: {
                for row in try await observer.query(
                    """
                    SELECT pid, query_start::text FROM pg_stat_activity
                    WHERE datname = current_database() AND state = 'idle' AND query = 'COMMIT'
                    """)
                { ends[try row.decode(0), default: []].insert(try row.decode(1)) }
                return ends.values.count { $0.count >= 2 }
            }, until: { $0 >= count })
    }

    @Test("A migration fails if the lock is held too long, and names the holder") func givesUpWhenTheLockIsHeldTooLong()
        async throws
    {
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(Self.lock)
        let migrator = Migrator(
            connection: try await TestDatabase.current.connect(), lockTimeout: .milliseconds(300))
        let start = ContinuousClock.now
        let refusal = await refusal { try await migrator.up() }
        #expect(.now - start >= .milliseconds(300))
        let reason =
            "The lock of brocot migrate is held by process \(holder.backendProcessIdentifier), and was not released within 0.3 s."
        #expect(refusal?.hasPrefix(reason) == true, "\(refusal ?? "")")
        #expect(try await migrator.status().state == .missing)
    }

    @Test("A migration continues when the lock is free") func continuesWhenTheLockIsFree() async throws {
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(Self.lock)
        let connection = try await TestDatabase.current.connect()
        async let applied = Migrator(connection: connection, set: try migrations("SELECT 1")).up()
        try await waitUntilMigratorsWait()
        try await holder.execute(Self.unlock)
        #expect(try await applied.count == 1)
    }

    @Test("A migration that waits for the lock keeps no transaction open") func holdsNoTransactionOpenWhileItWaits()
        async throws
    {
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(Self.lock)
        let connection = try await TestDatabase.current.connect()
        let waiting = Task { try await Migrator(connection: connection).up() }
        try await waitUntilMigratorsWait()
        // An attempt may be under way just now; between two there is no transaction.
        try await eventually(
            "no transaction is open", pause: .milliseconds(5),
            read: {
                try await holder.query(
                    "SELECT state FROM pg_stat_activity WHERE pid = \(Int(connection.backendProcessIdentifier))"
                ).single().decode(0, as: String.self)
            }, until: { $0 == "idle" })
        waiting.cancel()
        await #expect(throws: MigrationError.self) { try await waiting.value(until: "the cancelled migration ended") }
    }

    @Test("A migration is applied once if several migrators run at the same time") func neverAppliesAMigrationTwice()
        async throws
    {
        // The first migration lasts until the gate opens. It does not wait for a lock, because such a wait ends soon.
        let gate =
            "DO $$ BEGIN WHILE NOT pg_try_advisory_xact_lock_shared(7) LOOP PERFORM pg_sleep(0.01); END LOOP; END $$; "
        let set = try migrations((1...5).map { "\($0 == 1 ? gate : "")CREATE TABLE brocot.a\($0) ()" })
        let database = TestDatabase.current
        let holder = try await database.connect()
        try await holder.execute("SELECT pg_advisory_lock(7)")
        let applied = try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 1...6 {
                group.addTask {
                    try await Migrator(connection: try await database.connect(), set: set).up().map(\.version)
                }
            }
            try await waitUntilMigratorsWait(5)
            try await holder.execute("SELECT pg_advisory_unlock(7)")
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(applied.sorted() == Array(1...5))
    }

    @Test("A migrator sees migrations that another applied before the lock was taken") func seesMigrationsOfOthers()
        async throws
    {
        let set = try migrations("SELECT 1", "SELECT 2")
        let (waiting, other) = try await (TestDatabase.current.connect(), TestDatabase.current.connect())
        let begin = MigrationQueries.begin + MigrationQueries.settings(lockTimeout: .seconds(5))
        @Sendable func lockAndReadStatus() async throws -> MigrationStatus {
            #expect(try await waiting.query(MigrationQueries.lock.tryLock).single().decode(0, as: Bool.self))
            return try await waiting.run { connection throws(PostgresError) in
                try Migrator.readStatus(of: connection, set)
            }
        }
        // The first call fills the session's caches, so that they contain what the next call looks up, and that there
        // is no history.
        try await waiting.execute(script: begin)
        #expect(try await lockAndReadStatus().state == .missing)
        try await waiting.execute(script: "ROLLBACK")

        try await waiting.execute(script: begin)
        _ = try await Migrator(connection: other, set: set).up()
        #expect(try await lockAndReadStatus().state == .current)
    }

    @Test(
        "While a migration waits for the lock of a table, others can use the table, and the migration is applied once it is free"
    )
    func lockOfATable() async throws {
        let database = TestDatabase.current
        let first = "CREATE TABLE brocot.a ()"
        let connection = try await database.connect()
        _ = try await Migrator(connection: connection, set: try migrations(first)).up()
        let (holder, other) = try await (database.connect(), database.connect())
        try await holder.execute(script: "BEGIN; TABLE brocot.a")
        let announced = Mutex<[Int]>([])
        let waits = Mutex<[[LockHolder]]>([])
        let set = try migrations(first, "ALTER TABLE brocot.a ADD COLUMN b integer")
        let migrated = Task {
            try await Migrator(connection: connection, set: set, lockTimeout: .seconds(180)).up(
                willApply: { migration in announced.withLock { $0.append(migration.version) } },
                willWait: { holders in waits.withLock { $0.append(holders) } })
        }
        // Three times, so that the migration was tried again.
        for _ in 1...3 {
            try await database.waitUntilBlocked(connection, by: holder)
            try await other.execute(script: "SET lock_timeout = '30s'; TABLE brocot.a")
        }
        try await eventually("the program was told who has the lock") { waits.withLock { !$0.isEmpty } }
        try await holder.execute(script: "COMMIT")
        #expect(try await migrated.value(until: "the migration ended").map(\.version) == [2])
        #expect(announced.withLock { $0 } == [2])
        // Once, although it was tried again. The other session may have had the lock too at that moment.
        let told = waits.withLock { $0 }
        #expect(told.count == 1 && told[0].contains(.session(holder.backendProcessIdentifier)), "\(told)")
    }

    @Test(
        "A migration fails if it does not get the lock of a table in time, and names the place and the session that has the lock"
    )
    func givesUpAMigrationThatGetsNoLock() async throws {
        let holder = try await TestDatabase.current.connect()
        let first = "CREATE TABLE brocot.busy ()"
        let connection = try await TestDatabase.current.connect()
        _ = try await Migrator(connection: connection, set: try migrations(first)).up()
        try await holder.execute(script: "BEGIN; TABLE brocot.busy")
        let migrator = Migrator(
            connection: connection, set: try migrations(first, "SELECT 1;\nDROP TABLE brocot.busy"),
            lockTimeout: .milliseconds(200))
        let error = try #require(await #expect(throws: MigrationError.self) { try await migrator.up() })
        guard case .locked(let location, let cause, _, let holders) = error else { throw error }
        #expect(location?.line == 2)
        #expect(cause.sqlState == .lockNotAvailable)
        #expect(holders == [.session(holder.backendProcessIdentifier)])
        #expect(
            "\(error)".contains("Tables of schema brocot are locked by process \(holder.backendProcessIdentifier)."))
        #expect(try await migrator.status().databaseVersion == 1)
    }

    @Test("A migration that prepares a statement is tried again too") func preparesAgain() async throws {
        let database = TestDatabase.current
        let first = "CREATE TABLE brocot.a ()"
        let connection = try await database.connect()
        _ = try await Migrator(connection: connection, set: try migrations(first)).up()
        let (holder, other) = try await (database.connect(), database.connect())
        try await holder.execute(script: "BEGIN; TABLE brocot.a")
        let set = try migrations(first, "PREPARE \"All\" AS SELECT 1; ALTER TABLE brocot.a ADD COLUMN b integer")
        let migrated = Task { try await Migrator(connection: connection, set: set, lockTimeout: .seconds(180)).up() }
        // Three times, so that the migration was tried again.
        for _ in 1...3 {
            try await database.waitUntilBlocked(connection, by: holder)
            try await other.execute(script: "SET lock_timeout = '30s'; TABLE brocot.a")
        }
        try await holder.execute(script: "COMMIT")
        #expect(try await migrated.value(until: "the migration ended").map(\.version) == [2])
    }

    @Test("A migration that does not get the lock of a table outside of schema brocot names no session")
    func lockOutsideOfTheSchema()
        async throws
    {
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "CREATE TABLE public.busy ()")
        try await holder.execute(script: "BEGIN; TABLE public.busy")
        let migrator = Migrator(
            connection: try await TestDatabase.current.connect(), set: try migrations("DROP TABLE public.busy"),
            lockTimeout: .milliseconds(200))
        let error = try #require(await #expect(throws: MigrationError.self) { try await migrator.up() })
        guard case .locked(_, _, _, holders: []) = error else { throw error }
        #expect("\(error)".hasPrefix("dir/1_step.sql:1:1: error: canceling statement due to lock timeout"))
    }

    @Test("Some attempts of a migration wait for a lock until the server has cancelled an autovacuum that has it")
    func waitsLongEnoughForAutovacuum()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        @Sendable func lockTimeout(atMost limit: Duration) async throws -> String {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction { connection throws(PostgresError) in
                    try connection.execute(script: MigrationQueries.waitForCancelledAutovacuum(atMost: limit))
                    return try connection.query("SELECT current_setting('lock_timeout')").single().decode(0)
                }
            }
        }
        try await connection.execute("SET deadlock_timeout = '1s'")
        #expect(try await lockTimeout(atMost: Upgrade.longestLockWait) == "1200ms")
        #expect(try await lockTimeout(atMost: .milliseconds(300)) == "300ms")
        try await connection.execute("SET deadlock_timeout = '1min'")
        #expect(try await lockTimeout(atMost: Upgrade.longestLockWait) == "2s")
    }
}
