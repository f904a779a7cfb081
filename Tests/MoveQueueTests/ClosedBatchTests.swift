import MoveQueue
import Ordering
import Testing

@Suite("A closed batch holds a request only with every earlier one of its lists", .timeLimit(.minutes(30)))
struct ClosedBatchTests {
    private func list(_ name: String) -> ListIdentifier { ListIdentifier(orderedTable: "items", list: name) }

    private func request(_ id: Int64, _ target: String, from source: String? = nil) -> PendingRequest {
        PendingRequest(
            id: id, move: Move(list: list(target), items: ["x"], action: .place(.last, from: source)))
    }

    private func ids(_ pending: [PendingRequest], locked: [String], limit: Int = 100) -> [Int64] {
        ClosedBatch(pending, locked: Set(locked.map(list)), limit: limit).requests.map(\.id)
    }

    @Test("all of locked lists, by id")
    func allOfLockedLists() {
        #expect(ids([request(3, "b"), request(1, "a"), request(2, "b", from: "a")], locked: ["a", "b"]) == [1, 2, 3])
    }

    @Test("a list is cut before its first change with a list that is not locked")
    func cutBeforeUnlocked() {
        let pending = [request(1, "a"), request(2, "a", from: "b"), request(3, "a"), request(4, "c")]
        #expect(ids(pending, locked: ["a", "c"]) == [1, 4])
    }

    @Test("a cut also cuts the other lists of changes of list")
    func cutSpreads() {
        let pending = [
            request(1, "a", from: "z"), request(2, "b", from: "a"), request(3, "c", from: "b"), request(4, "c"),
        ]
        #expect(ids(pending, locked: ["a", "b", "c"]).isEmpty)
    }

    @Test("a list is cut where reading stopped, and so is whatever changes items with it beyond")
    func cutWhereReadingStopped() {
        let pending = [request(1, "a"), request(2, "a"), request(5, "b", from: "a"), request(6, "b")]
        #expect(ids(pending, locked: ["a", "b"], limit: 2) == [1, 2])
    }

    @Test("as source, a list is cut where reading stopped as well")
    func cutAsSource() {
        let pending = [request(1, "b", from: "a"), request(2, "c", from: "a"), request(9, "a")]
        #expect(ids(pending, locked: ["a", "b", "c"], limit: 2) == [1, 2])
    }

    @Test("what was left out is counted")
    func heldBack() {
        let batch = ClosedBatch([request(1, "a", from: "b"), request(2, "a")], locked: [list("a")], limit: 10)
        #expect(batch.heldBack == 2)
    }
}
