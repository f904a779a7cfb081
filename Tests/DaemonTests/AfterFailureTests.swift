import Ordering
import TestLimit
import Testing

@testable import Daemon
@testable import LibPQ
@testable import MoveQueue

@Suite("What a worker does after a failed batch", .usualTimeLimit) struct AfterFailureTests {
    private let list = ListIdentifier(orderedTable: "items", key: "a")

    private func next(
        after state: SQLState, of lists: [ListIdentifier] = [], isConnectionLost: Bool = false,
        wasSmallest: Bool = false,
        drains: Bool = false, sourceFunction: String? = nil
    ) -> AfterFailure {
        let error = PostgresError(
            fields: .init(code: .server, message: "refused", sqlState: state, sourceFunction: sourceFunction))
        return AfterFailure(
            BatchFailure(.database(error), lists: lists), isConnectionLost: isConnectionLost, wasSmallest: wasSmallest,
            drains: drains)
    }

    @Test("A worker connects again if the connection is lost, or if the server has become read-only")
    func connectsAgain() {
        #expect(next(after: .insufficientPrivilege, of: [list], isConnectionLost: true) == .connectAgain)
        #expect(next(after: .readOnlyTransaction) == .connectAgain)
        #expect(next(after: .readOnlyTransaction, wasSmallest: true, drains: true) == .connectAgain)
        #expect(next(after: .featureNotSupported, sourceFunction: "call_bool_check_hook") == .connectAgain)
    }

    @Test("A worker goes on if lists may be the cause", arguments: [true, false])
    func goesOn(drains: Bool) {
        #expect(next(after: .insufficientPrivilege, of: [list], wasSmallest: true, drains: drains) == .goOn)
        #expect(next(after: .readOnlyTransaction, of: [list], drains: drains) == .goOn)
    }

    @Test("A worker tries a smaller batch, and backs off after the smallest one")
    func backsOff() {
        for drains in [true, false] {
            #expect(next(after: .insufficientPrivilege, drains: drains) == .tryLess)
            #expect(next(after: .queryCanceled, wasSmallest: true, drains: drains) == .backOff)
        }
        #expect(next(after: .insufficientPrivilege, wasSmallest: true) == .backOff)
    }

    @Test("A worker that drains ends if the server refuses the smallest batch for a reason that a person must remove")
    func ends() {
        #expect(next(after: .insufficientPrivilege, wasSmallest: true, drains: true) == .end)
        // Such an error can come from a rule on a table of the queue.
        #expect(next(after: .featureNotSupported, wasSmallest: true, drains: true) == .end)
    }
}
