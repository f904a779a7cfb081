import LibPQ
import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("Decisions of a batch", .usualTimeLimit) struct BatchDecisionsTests {
    private let s = ListIdentifier("s")
    private let t = ListIdentifier("t")
    private let u = ListIdentifier("u")

    /// A request that puts an item into a list, from the other list if there is one.
    private func request(_ id: Int64, into list: ListIdentifier, from source: ListIdentifier? = nil) -> PendingRequest {
        PendingRequest(
            id: id, move: Move(list: list, items: ["\(id)"], action: .place(.last, from: source.map(\.key))))
    }

    private var changeOfList: PendingRequest { request(2, into: t, from: s) }
    private let error = QueueError.unreadableRequest(id: 1)

    @Test("A list whose request must wait for a failed list fails too, so that it is not tried again at once")
    func failure() {
        var decisions = BatchDecisions()
        decisions.fail(request(1, into: s), error)
        let later = [changeOfList, request(3, into: t), request(4, into: u)]
        #expect(decisions.admissible(later).map(\.id) == [4])
        #expect(decisions.summary.failures.map(\.list) == [s, t])
        #expect(decisions.admissible(later).map(\.id) == [4])
        #expect(decisions.summary.failures.count == 2)
    }

    @Test("A list whose request must wait for a list with locked rows counts as locked too") func lockedRows() {
        var decisions = BatchDecisions()
        decisions.leaveLocked([s])
        #expect(decisions.admissible([changeOfList]).isEmpty)
        #expect(decisions.summary.withLockedRows == [s, t])
    }

    @Test("A list whose request must wait for a suspected list is suspected too") func suspicion() {
        var decisions = BatchDecisions()
        decisions.leaveForLater([request(1, into: s)])
        #expect(decisions.admissible([changeOfList]).isEmpty)
        #expect(decisions.summary.suspected == [s, t])
    }

    @Test("No further request of a list that waits for a person is decided, nor of the other lists of its requests")
    func hold() {
        var decisions = BatchDecisions()
        decisions.hold(request(1, into: s), because: error.refusal)
        #expect(decisions.admissible([changeOfList, request(3, into: t)]).isEmpty)
        #expect(decisions.summary.newlyHeld.map(\.list) == [s])
        #expect(
            decisions.summary.failures.isEmpty && decisions.summary.suspected.isEmpty
                && decisions.summary.withLockedRows.isEmpty)
    }
}
