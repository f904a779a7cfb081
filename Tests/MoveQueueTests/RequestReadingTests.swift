import LibPQ
import Ordering
import Testing

@testable import MoveQueue

@Suite("Requests that one statement read", .timeLimit(.minutes(30))) struct RequestReadingTests {
    private func list(_ name: String) -> ListIdentifier { ListIdentifier(name) }

    /// The crowded-out lists of a reading that stopped in the lists a, b, c and w, of which w waits for a person. List e was read to its
    /// end. The batch has these requests.
    private func crowdedOut(by requests: [PendingRequest]) -> [ListIdentifier] {
        let firstUnread = [list("a"): Int64(90), list("b"): 20, list("c"): 40, list("w"): 10]
        let locked = ["a", "b", "c", "e", "w"].map(list)
        let batch = ClosedBatch(
            requests, locked: Set(locked), waiting: [list("w")], firstUnread: firstUnread, limit: 1_000)
        #expect(batch.requests == requests)
        let reading = RequestReading(
            requests: requests, firstUnread: firstUnread, time: Timestamp(microsecondsSinceEpoch: 0))
        return reading.crowdedOut(of: batch, in: locked)
    }

    @Test("If a batch has no request, the list with the oldest request that was not read is served first")
    func oldestFirst() {
        #expect(crowdedOut(by: []) == [list("b"), list("c"), list("a")])
    }

    @Test("A list of which the batch took a request is not crowded out")
    func served() {
        let request = PendingRequest(
            id: 7, move: Move(list: list("c"), items: ["x"], action: .place(.last, from: nil)))
        #expect(Set(crowdedOut(by: [request])) == [list("a"), list("b")])
    }
}
