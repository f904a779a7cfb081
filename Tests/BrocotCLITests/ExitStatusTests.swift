import Administration
import Ordering
import TestLimit
import Testing

@testable import BrocotCLI

/// The waits for these locks take a minute or more, so the commands themselves don't run here.
@Suite("Exit statuses", .usualTimeLimit) struct ExitStatusTests {
    @Test(
        "A command that attaches, detaches or repairs tables ends with 5 if others keep its lock or the table's",
        arguments: [AttachError.busy(holders: [], waited: .seconds(60)), .lockTimeout(step: "make the triggers")])
    func locks(error: AttachError) {
        #expect(ExitStatus(of: error) == .lockTimeout)
        #expect(ExitStatus.lockTimeout.rawValue == 5)
    }

    /// Errors of commands that read or write lists, and their exit statuses.
    private static let errorsOfLists: [(OrderingError, Int32)] = [
        (.invalidStoredRank(table: "t", list: "l", key: "k", rank: "2/4"), 7),
        (.ranksOutOfOrder(list: "l", key: "k", other: nil), 7),
        (.missingColumn(table: "t", relation: "public.t", column: "id"), 7),
        (.triggerOfOtherOrder(table: "t", function: "keep_public.s"), 7),
        (.untrustedOwner(table: "t", owner: "somebody"), 7),
        (.unsupportedKeyType(table: "t", column: "id", type: "json"), 2),
        (.rowsChangedUnderLock(list: "l", key: "k"), 1),
        (.unexpectedRowCount(table: "t", expected: 2, written: 1), 1), (.rowsLocked(lists: ["l"]), 1),
        (.readingDoesNotSettle(list: "l"), 1), (.tookTooLong(table: "t"), 1),
    ]

    @Test(
        "A command that can't read or write lists ends with 7 if ranks or the registry need repair, with 2 if a key's type is wrong, and else with 1",
        arguments: errorsOfLists)
    func lists(error: OrderingError, status: Int32) {
        #expect(BrocotCLI.ExitStatus(of: error)?.rawValue == status)
    }
}
