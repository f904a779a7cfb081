import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Steps of a plan", .commonDatabase, .usualTimeLimit) struct StepRunnerTests {
    @Test(
        "A step waits for its lock as long as configured if writers wait behind it, and without a limit if they don't",
        arguments: [
            (AttachStep.Lock.accessExclusive, "70ms"), (.share, "70ms"), (.rows, "70ms"),
            (.shareUpdateExclusive, "0"),
        ])
    func lockTimeout(lock: AttachStep.Lock, limit: String) async throws {
        let connection = try await TestDatabase.current.connect()
        let runner = StepRunner(
            connection: connection, logger: .silent, lockTimeout: .milliseconds(70), attempts: 1)
        let statement = "SELECT set_config('test.limit', current_setting('lock_timeout'), false)"
        let step = AttachStep("note the limit", [statement], lock: lock, by: .tableOwner)
        try await runner.run(step, on: AttachFixture.definition().names)
        let seen = try await connection.query("SELECT current_setting('test.limit')").single()
        #expect(try seen.decode(0, as: String.self) == limit)
    }

    @Test(
        "Only a step that fires users' triggers runs with the session's search_path",
        arguments: [(AttachStep.Execution.together, false), (.inSessionsSearchPath, true)])
    func searchPath(execution: AttachStep.Execution, keepsSchemas: Bool) async throws {
        let connection = try await TestDatabase.current.connect()
        let runner = StepRunner(connection: connection, logger: .silent, lockTimeout: .seconds(1), attempts: 1)
        let statement = "SELECT set_config('test.path', current_setting('search_path'), false)"
        let step = AttachStep("note the path", [statement], lock: .rows, by: .tableOwner, execution: execution)
        try await runner.run(step, on: AttachFixture.definition().names)
        let seen = try await connection.query("SELECT current_setting('test.path')").single()
        #expect(try seen.decode(0, as: String.self).contains("public") == keepsSchemas)
    }

    @Test("A step that gets no lock names the sessions that have the table locked for longer, and no others", .database)
    func holders() async throws {
        let fixture = try await AttachFixture(AttachFixture.partitionedTasks)
        let runner = StepRunner(
            connection: fixture.connection, logger: .silent, lockTimeout: .milliseconds(50), attempts: 2)
        let writer = try await TestDatabase.current.connect()
        try await writer.execute(
            script: "SET application_name = 'writer'; BEGIN; INSERT INTO tasks VALUES (1, 1)")
        let reader = try await TestDatabase.current.connect()
        try await reader.execute(script: "BEGIN; TABLE tasks")
        let step = AttachStep(
            "make the triggers", ["LOCK TABLE public.tasks_1 IN SHARE ROW EXCLUSIVE MODE"], lock: .share,
            by: .tableOwner)
        let error = await #expect(throws: AttachError.self) {
            try await runner.run(step, on: AttachFixture.definition().names)
        }
        let message = "\(try #require(error))"
        let process = writer.backendProcessIdentifier
        #expect(
            message == """
                Could not make the triggers: a table that this step needs is locked by process \(process) (user postgres, writer). The finished steps stay. Run \
                the same command again when that transaction has ended, and it continues. See process \(process) in pg_stat_activity. To end \
                it: SELECT pg_terminate_backend(\(process));
                """,
            "\(message)")
    }
}
