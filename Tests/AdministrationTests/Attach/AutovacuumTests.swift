import FoundationEssentials
import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("brocot attach beside an autovacuum", .usualTimeLimit) struct AutovacuumTests {
    private static let isVacuumed = """
        SELECT EXISTS (
            SELECT FROM pg_locks AS held JOIN pg_stat_activity AS session USING (pid)
            WHERE held.relation = 'tasks'::regclass AND session.backend_type = 'autovacuum worker')
        """

    @Test(
        "A step that needs a lock waits until the server has cancelled the autovacuum of the table",
        .database(on: .own(settings: ["autovacuum_naptime": "1s"]), mostlyWaits: true))
    func cancelsAutovacuum() async throws {
        let fixture = try await AttachFixture(
            """
            -- Slow in this table alone, so that no worker is busy with the catalog for long.
            CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint) WITH (
                autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0,
                autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1);
            INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 50000) AS n;
            DELETE FROM tasks WHERE id > 10;
            """)
        let attacher = Attacher(
            connection: fixture.connection, logger: .silent, lockTimeout: .milliseconds(20), attempts: 10)
        let step = try await attacher.plan(AttachFixture.definition()).steps[0]
        #expect(step.lock == .accessExclusive)
        try await eventually("an autovacuum works on the table") {
            try await fixture.texts(Self.isVacuumed) == ["t"]
        }
        try await attacher.run(step, on: AttachFixture.definition().names)
        #expect(try await fixture.attacher.plan(AttachFixture.definition()).missingColumns == 0)
        let log = TestDatabase.current.cluster.logFile
        try await eventually("the server's log says that an autovacuum was cancelled") {
            try String(contentsOfFile: log, encoding: .utf8).contains("canceling autovacuum task")
        }
    }

    @Test(
        "A step waits no longer than usual for a lock of the same mode that an autovacuum does not have",
        .databaseWithAttachedTasks)
    func otherHolder() async throws {
        let fixture = try await AttachFixture()
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; LOCK TABLE tasks IN SHARE UPDATE EXCLUSIVE MODE")
        let names = AttachFixture.definition().names
        let timeout = try await fixture.connection.run { connection throws(PostgresError) in
            try connection.transaction(settings: TransactionSettings.ofTables + [("lock_timeout", "20")]) {
                connection throws(PostgresError) in
                _ = try connection.query(LockHolderStatements.waitForCancelledAutovacuum(of: names))
                return try connection.query("SELECT current_setting('lock_timeout')").single().decode(
                    0, as: String.self)
            }
        }
        #expect(timeout == "20ms")
    }
}
