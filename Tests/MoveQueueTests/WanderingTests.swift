import MoveQueue
import Ordering
import TestPostgres
import Testing

@Suite("A worker that wanders", .database, .timeLimit(.minutes(10)))
struct WanderingTests {
    @Test("begins with the list that it has gone to, also the last one") func includesItsPlace() async throws {
        let fixture = try await QueueFixture()
        let moves = ["a", "z"].map { name in
            Move(
                list: ListIdentifier(orderedTable: "items", list: name), items: ["x"], action: .place(.last, from: nil))
        }
        var configuration = QueueConfiguration()
        configuration.listsPerBatch = 1
        // Only the later request is beyond the lower bound of a random place, but for one place in very many.
        try await fixture.enqueue([moves[0]])
        try await fixture.connection.execute("SELECT setval('brocot.move_requests_id_seq', 1000000000)")
        try await fixture.enqueue([moves[1]])
        var worker = QueueWorker(configuration)
        try await worker.wander(on: fixture.connection)
        _ = try await worker.runBatch(on: fixture.connection)
        #expect(try await fixture.lists() == ["z": ["x"]])
    }
}
