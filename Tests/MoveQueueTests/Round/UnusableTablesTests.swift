import LibPQ
import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("Tables that a worker leaves out", .usualTimeLimit) struct UnusableTablesTests {
    private let start = ContinuousClock.now
    private let table = "public.tasks"

    private func list(_ number: Int) -> ListIdentifier { ListIdentifier("\(number)", of: table) }

    /// Postponed lists, of which so many failed because of their table.
    private func postponed(failing count: Int) -> PostponedLists {
        var postponed = PostponedLists()
        for number in 1...count { postponed.noteFailure(of: [list(number)], concernsTable: true, at: start) }
        return postponed
    }

    @Test("A table is left out if 32 of its lists fail because of it, and not if fewer do, or for other reasons")
    func leavesOut() {
        #expect(postponed(failing: 31).names.tables == [])
        #expect(postponed(failing: 32).names.tables == [table])
        #expect(postponed(failing: 32).failing.tables == [table])
        var others = postponed(failing: 31)
        for number in 32...1_000 { others.noteFailure(of: [list(number)], at: start) }
        others.noteFailure(of: [ListIdentifier("of another table")], concernsTable: true, at: start)
        #expect(others.names.tables == [])
    }

    @Test("Of a table that is left out, only the lists that failed because of it are remembered and tried again")
    func triesAgain() {
        var postponed = PostponedLists()
        let other = ListIdentifier("other")
        postponed.noteSuspicion(of: (100...200).map(list) + [other], at: start)
        for number in 1...32 { postponed.noteFailure(of: [list(number)], concernsTable: true, at: start) }
        postponed.noteSuspicion(of: (201...300).map(list), at: start)
        postponed.noteUnavailable([list(301)], at: start)
        #expect(Set(postponed.lists) == Set((1...32).map(list) + [other]))
        postponed.forget([other])
        #expect(Set(postponed.next(at: start + .seconds(1))) == Set((1...32).map(list)))
    }

    @Test(
        "A table is no longer left out as soon as one of these lists is worked on, makes progress, or fails for another reason",
        arguments: [0, 1, 2])
    func isUsableAgain(event: Int) {
        var postponed = postponed(failing: 32)
        switch event {
        case 0: postponed.forget([list(7)])
        case 1: postponed.noteProgress(of: list(7), at: start)
        default: postponed.noteFailure(of: [list(7)], at: start)
        }
        #expect(postponed.names.tables == [])
        postponed.noteFailure(of: [list(7)], concernsTable: true, at: start)
        #expect(postponed.names.tables == [table])
    }

    @Test("The batches of a round leave out a table as soon as enough of its lists failed because of it")
    func round() throws {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: false, at: start)
        var report = decided(lists("a"))
        let error = QueueError.ordering(.missingColumn(table: table, relation: table, column: "id"))
        report.decisions.failures = (1...32).map { ListFailure(list: list($0), error: error) }
        _ = round.note(report, at: start)
        #expect(try #require(round.beginTurn(isPollDue: false, at: start).batch).postponed.tables == [table])
    }
}
