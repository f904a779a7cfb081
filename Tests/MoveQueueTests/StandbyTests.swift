import Foundation
import LibPQ
import MoveQueue
import TestPostgres
import Testing

@Suite("A worker whose server has become a standby", .timeLimit(.minutes(30))) struct StandbyTests {
    @Test(
        "A worker fails with a standby error and keeps its connection if its server has become a standby",
        .database(on: .own()))
    func standby() async throws {
        let database = TestDatabase.current
        try await database.observer.execute("SELECT brocot.move('letters', 'a', last => true)")
        await database.cluster.stop()
        let signal = "\(database.cluster.directory)/data/standby.signal"
        #expect(FileManager.default.createFile(atPath: signal, contents: nil))
        try await database.cluster.start()
        let connection = try await database.connect()
        var worker = QueueWorker()
        let error = await #expect(throws: BatchFailure.self) { _ = try await worker.runTurn(on: connection) }
        #expect(error?.error.databaseError?.isFromReadOnlyServer == true)
        #expect(await !connection.isLost)
    }
}
