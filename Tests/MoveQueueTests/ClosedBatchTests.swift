import LibPQ
import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("Closed batches", .usualTimeLimit)
struct ClosedBatchTests {
    private func list(_ name: String) -> ListIdentifier { ListIdentifier(orderedTable: "items", key: name) }

    private func request(_ id: Int64, _ target: String, from source: String? = nil) -> PendingRequest {
        PendingRequest(
            id: id, move: Move(list: list(target), items: ["x"], action: .place(.last, from: source)))
    }

    private func batch(
        _ pending: [PendingRequest], locked: [String], waiting: [String] = [], leftOut: [String] = [],
        firstUnread: [String: Int64] = [:], limit: Int = 100
    ) -> ClosedBatch {
        let firstUnread = Dictionary(uniqueKeysWithValues: firstUnread.map { (list($0), $1) })
        return ClosedBatch(
            RequestReading(
                requests: pending, firstUnread: firstUnread, time: Timestamp(microsecondsSinceEpoch: 0),
                isAnyListHeld: false),
            in: locked.map(list), waiting: Set(waiting.map(list)), leftOut: Set(leftOut.map(list)), limit: limit)
    }

    private func ids(_ pending: [PendingRequest], locked: [String], limit: Int = 100) -> [Int64] {
        batch(pending, locked: locked, limit: limit).requests.map(\.id)
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

    @Test("Requests that wait for a waiting list are not counted, and their lists are not crowded out")
    func waitingLists() {
        let pending = [request(1, "a", from: "held"), request(2, "b", from: "a"), request(3, "c")]
        let batch = batch(pending, locked: ["a", "b", "c"], waiting: ["held"], firstUnread: ["a": 8, "b": 9])
        #expect(batch.requests.map(\.id) == [3])
        #expect(batch.undecided.includeWaiting)
        #expect(batch.undecided.count == 0 && !batch.undecided.areLeftForLater)
        #expect(batch.undecided.untouched == Set(["a", "b"].map(list)))
    }

    @Test("A list is cut before the first request that was not read") func firstUnread() {
        let pending = [request(1, "a"), request(2, "b"), request(3, "c", from: "a")]
        let batch = batch(pending, locked: ["a", "b", "c"], firstUnread: ["a": 3, "b": 2])
        #expect(batch.requests.map(\.id) == [1])
    }

    @Test("A list is obstructed if most of its requests need a list that is left out, directly or through other lists")
    func obstructed() {
        let pending = [
            request(1, "a", from: "other"), request(2, "b", from: "a"), request(3, "c"), request(4, "c"),
            request(5, "c", from: "a"), request(6, "d"),
        ]
        let batch = batch(pending, locked: ["a", "b", "c", "d"], leftOut: ["other"])
        #expect(batch.requests.map(\.id) == [3, 4, 6])
        #expect(batch.undecided.obstructed == Set(["a", "b"].map(list)))
    }

    @Test("A closed batch counts the requests that it leaves out")
    func count() {
        let undecided = batch([request(1, "a", from: "b"), request(2, "a")], locked: ["a"]).undecided
        #expect(undecided.count == 2 && undecided.areLeftForLater)
        #expect(undecided.hasChangesOfList && !undecided.includeWaiting)
        #expect(undecided.untouched == [list("a")])
    }

    /// The crowded-out lists of a reading that stopped in the lists a, b, c and w, of which w waits for a person. List e was read to its
    /// end. The batch has these requests.
    private func crowdedOut(by requests: [PendingRequest]) -> [ListIdentifier] {
        let batch = batch(
            requests, locked: ["a", "b", "c", "e", "w"], waiting: ["w"],
            firstUnread: ["a": 90, "b": 20, "c": 40, "w": 10])
        #expect(batch.requests == requests)
        return batch.undecided.crowdedOut
    }

    @Test("If a batch has no request, the list with the oldest request that was not read is served first")
    func oldestFirst() {
        #expect(crowdedOut(by: []) == ["b", "c", "a"].map(list))
    }

    @Test("A list of which the batch took a request is not crowded out")
    func served() {
        #expect(Set(crowdedOut(by: [request(7, "c")])) == Set(["a", "b"].map(list)))
    }
}
