import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("brocot check and --repair beside sessions that keep locks", .database, .usualTimeLimit)
struct RepairLockTests {
    @Test(
        "brocot check names who has locked a table, and does not wait for it without a limit",
        .databaseWithAttachedTasks(mostlyWaits: true))
    func lockedTable() async throws {
        let fixture = try await AttachFixture()
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; LOCK TABLE tasks")
        let findings = try await fixture.findings()
        #expect(findings.isLocked)
        let reason = findings.lines().joined()
        let process = holder.backendProcessIdentifier
        #expect(reason.contains("locked by process \(process)") && reason.contains("pg_terminate_backend(\(process))"))
        try await holder.execute(script: "COMMIT")
        #expect(try await fixture.findings().areRight)
    }

    @Test(
        "brocot check names who has locked a partition, and does not wait for it to learn the name",
        .database(mostlyWaits: true))
    func lockedPartition() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id int, project_id int, PRIMARY KEY (project_id, id)) PARTITION BY LIST (project_id);
            CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1); INSERT INTO tasks VALUES (1, 1)
            """)
        try await fixture.attach()
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; LOCK TABLE tasks_1")
        // The other session still has the lock at the end. So no statement has waited for it without a limit.
        let findings = try await fixture.findings()
        #expect(findings.lines().joined().contains("locked by process \(holder.backendProcessIdentifier)"))
        try await holder.execute(script: "COMMIT")
        #expect(try await fixture.findings().areRight)
    }

    @Test(
        "brocot check --repair waits a limited time for the lock of a list, and names who has it",
        .databaseWithAttachedTasks)
    func lockedList() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(
            script: AttachFixture.withoutRules + "UPDATE tasks SET rank = 7 WHERE id = 1")
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(
            script: """
                SET application_name = 'squatter'; SELECT pg_advisory_lock(brocot.list_lock_key('public.tasks', '1'))
                """)
        let repair = TableRepair(connection: fixture.connection, logger: .silent, attempts: 2)
        let definition = AttachFixture.definition()
        let findings = try await repair.findings(of: definition)
        let error = await #expect(throws: AttachError.self) {
            try await repair.repair(definition, findings, placingRows: false)
        }
        let process = holder.backendProcessIdentifier
        #expect(
            "\(try #require(error))".hasPrefix(
                """
                Could not repair the ranks of list "1", because the list or one of its rows is locked by process \(process) (user postgres, squatter). \
                Run the same command again when that transaction has ended.
                """))
    }

    @Test(
        "If a session keeps a row locked, brocot check --repair names the session, and does not end the check of other tables",
        .databaseWithAttachedTasks
    )
    func lockedRow() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(
            script: AttachFixture.withoutRules + "UPDATE tasks SET rank = 7 WHERE id = 1")
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(
            script: "SET application_name = 'editor'; BEGIN; SELECT FROM tasks WHERE id = 1 FOR UPDATE")
        let repair = TableRepair(connection: fixture.connection, logger: .silent, attempts: 2)
        var found: [TableFindings] = []
        let outcome = try #require(
            try await repair.repairExclusively("public.tasks", placingRows: false) { found.append($1) })
        #expect(found == [outcome.findings] && outcome.findings.checkedTable?.damagedRows == 1)
        let failure = try #require(outcome.failure)
        #expect(failure.isLocked)
        #expect(
            failure.text.contains("is locked by process \(holder.backendProcessIdentifier) (user postgres, editor)"),
            "\(failure.text)")
    }

    @Test("A repair names the sessions of older moves that it waited for in vain", .database)
    func olderMove() async throws {
        let mover = try await TestDatabase.current.connect()
        try await mover.execute(
            script: "SET application_name = 'mover'; BEGIN; SELECT brocot.move_now('l', 'a', last => true)")
        let wait = OlderMovesWait(connection: try await TestDatabase.current.connect(), limit: .milliseconds(100))
        let error = await #expect(throws: AttachError.self) { try await wait.run() }
        let message = "\(try #require(error))"
        let holder = "process \(mover.backendProcessIdentifier) (user postgres, mover)"
        #expect(
            message.hasPrefix(
                "Could not wait for transactions that move rows: a table that this step needs is locked by \(holder)."),
            "\(message)")
        try await mover.execute(script: "COMMIT")
        try await wait.run()
    }
}
