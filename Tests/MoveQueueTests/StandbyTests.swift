import LibPQ
import MoveQueue
import TestLimit
import TestPostgres
import Testing

@Suite("A worker on a standby", .usualTimeLimit) struct StandbyTests {
    @Test(
        "A worker fails with a standby error and keeps its connection if its server is a standby",
        .databaseOnStandby)
    func standby() async throws {
        let connection = try await TestDatabase.current.connect()
        var worker = QueueWorker()
        let error = await #expect(throws: BatchFailure.self) { _ = try await worker.runTurn(on: connection) }
        #expect(error?.error.databaseError?.isFromReadOnlyServer == true)
        #expect(await !connection.isLost)
    }
}
