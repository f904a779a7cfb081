import Ordering
import Testing

@testable import MoveQueue

@Suite("Closed batches", .timeLimit(.minutes(30)))
struct ClosedBatchTests {
    private func list(_ name: String) -> ListIdentifier { ListIdentifier(orderedTable: "items", key: name) }

    private func request(_ id: Int64, _ target: String, from source: String? = nil) -> PendingRequest {
        PendingRequest(
            id: id, move: Move(list: list(target), items: ["x"], action: .place(.last, from: source)))
    }

    private func ids(_ pending: [PendingRequest], locked: [String], limit: Int = 100) -> [Int64] {
        ClosedBatch(pending, locked: Set(locked.map(list)), limit: limit).requests.map(\.id)
    }

    @Test("A closed batch holds all requests of locked lists, sorted by id")
    func allOfLockedLists() {
        #expect(ids([request(3, "b"), request(1, "a"), request(2, "b", from: "a")], locked: ["a", "b"]) == [1, 2, 3])
    }

    @Test("A closed batch cuts a list before its first change of list with an unlocked list")
    func cutBeforeUnlocked() {
        let pending = [request(1, "a"), request(2, "a", from: "b"), request(3, "a"), request(4, "c")]
        #expect(ids(pending, locked: ["a", "c"]) == [1, 4])
    }

    @Test("A cut in one list also cuts the lists that changes of list connect with it")
    func cutSpreads() {
        let pending = [
            request(1, "a", from: "z"), request(2, "b", from: "a"), request(3, "c", from: "b"), request(4, "c"),
        ]
        #expect(ids(pending, locked: ["a", "b", "c"]).isEmpty)
    }

    @Test("A list is cut where reading stopped, and so are later changes of list with this list")
    func cutWhereReadingStopped() {
        let pending = [request(1, "a"), request(2, "a"), request(5, "b", from: "a"), request(6, "b")]
        #expect(ids(pending, locked: ["a", "b"], limit: 2) == [1, 2])
    }

    @Test("A source list is also cut where reading stopped")
    func cutAsSource() {
        let pending = [request(1, "b", from: "a"), request(2, "c", from: "a"), request(9, "a")]
        #expect(ids(pending, locked: ["a", "b", "c"], limit: 2) == [1, 2])
    }

    @Test("A closed batch knows the lists of which a request waits for a waiting list")
    func waitingLists() {
        let pending = [request(1, "a", from: "held"), request(2, "b", from: "a"), request(3, "c")]
        let batch = ClosedBatch(pending, locked: Set(["a", "b", "c"].map(list)), waiting: [list("held")], limit: 10)
        #expect(batch.waitingLists == Set(["held", "a", "b"].map(list)))
        #expect(batch.requests.map(\.id) == [3])
    }

    @Test("A list is cut before the first request that was not read") func firstUnread() {
        let pending = [request(1, "a"), request(2, "b"), request(3, "c", from: "a")]
        let batch = ClosedBatch(
            pending, locked: Set(["a", "b", "c"].map(list)), firstUnread: [list("a"): 3, list("b"): 2], limit: 10)
        #expect(batch.requests.map(\.id) == [1])
    }

    @Test("A list is obstructed if most of its requests need a list that is left out, directly or through other lists")
    func obstructed() {
        let pending = [
            request(1, "a", from: "other"), request(2, "b", from: "a"), request(3, "c"), request(4, "c"),
            request(5, "c", from: "a"), request(6, "d"),
        ]
        let batch = ClosedBatch(
            pending, locked: Set(["a", "b", "c", "d"].map(list)), leftOut: [list("other")], limit: 10)
        #expect(batch.requests.map(\.id) == [3, 4, 6])
        #expect(batch.obstructed == Set(["a", "b"].map(list)))
    }

    @Test("A closed batch counts the requests that it leaves out")
    func requestsLeft() {
        let batch = ClosedBatch([request(1, "a", from: "b"), request(2, "a")], locked: [list("a")], limit: 10)
        #expect(batch.requestsLeft == 2)
    }
}
