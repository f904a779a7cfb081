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
}
