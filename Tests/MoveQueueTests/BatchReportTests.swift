import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("Reports of batches", .usualTimeLimit) struct BatchReportTests {
    private func lists(_ names: String...) -> [ListIdentifier] { names.map { ListIdentifier($0) } }

    @Test("A list is unavailable if another session has its lock, has locked its rows, or has a list that it needs")
    func unavailable() {
        var decisions = BatchDecisions()
        decisions.leaveLocked(lists("rows"))
        var report = BatchReport()
        report.claim.lockedByOthers = lists("lock")
        report.undecided.obstructed = Set(lists("needs another"))
        report.decisions = decisions.summary
        #expect(report.unavailable == Set(lists("lock", "rows", "needs another")))
    }

    @Test("A list that failed, or that may be the cause of a failure, is not unavailable")
    func failures() {
        var report = BatchReport()
        report.decisions.failures = [ListFailure(list: lists("a")[0], error: .settingsChanged)]
        report.decisions.suspected = Set(lists("b"))
        #expect(report.unavailable.isEmpty)
    }

    @Test("Another worker is needed for many requests, many lists, or crowded-out lists")
    func needsAnotherWorker() {
        func report(_ change: (inout BatchReport) -> Void) -> BatchReport {
            var report = BatchReport()
            (report.claim.found, report.claim.locked, report.decisions.applied) = (1, lists("a"), 1)
            change(&report)
            return report
        }
        #expect(!report { $0.decisions.applied = 255 }.needsAnotherWorker)
        #expect(report { $0.decisions.applied = 256 }.needsAnotherWorker)
        #expect(report { $0.undecided.count = 256 }.needsAnotherWorker)
        #expect(report { $0.claim.found = 128 }.needsAnotherWorker)
        #expect(report { $0.undecided.crowdedOut = ["b"] }.needsAnotherWorker)
    }

    @Test("A summary counts all rejections, and keeps the first 100 for the log")
    func keptRejections() {
        var summary = DecisionSummary()
        for id in Int64(1)...101 {
            let move = Move(list: "l", items: ["\(id)"], action: .remove)
            let rejection = Rejection(.itemNotFound, "no such item")
            summary.count(
                Decision(request: .init(id: id, move: move), result: MoveResult(outcome: .rejected(rejection))))
        }
        #expect(summary.rejected == 101 && summary.count == 101)
        #expect(summary.rejections.map(\.request) == Array(1...100))
    }
}
