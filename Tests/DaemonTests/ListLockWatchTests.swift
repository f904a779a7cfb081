import MoveQueue
import Ordering
import TestLimit
import Testing

@testable import Daemon

@Suite("Reports of lists that one transaction keeps locked", .usualTimeLimit)
struct ListLockWatchTests {
    private let list = ListIdentifier(orderedTable: "items", key: "a")
    private let start = ContinuousClock.now

    /// Fails to lock the list once a second, and returns the seconds at which a report comes.
    private func reports(
        for seconds: Int, missing: (Int) -> Bool = { _ in true }, transaction: (Int) -> LockHoldingTransaction?
    ) -> [Int] {
        var watch = ListLockWatch()
        var reports: [Int] = []
        for second in 0..<seconds {
            let now = start + .seconds(second)
            if missing(second) { watch.note([list], at: now) }
            guard watch.due(at: now) == [list] else { continue }
            let transactions = transaction(second).map { [list: $0] } ?? [:]
            if !watch.note(transactions, at: now).isEmpty { reports.append(second) }
        }
        return reports
    }

    private func transaction(_ virtualID: String) -> LockHoldingTransaction {
        LockHoldingTransaction(holder: .session(7), virtualID: virtualID, applicationName: "psql")
    }

    @Test("A list that one transaction keeps locked is reported after 30 s, and then every 5 minutes")
    func sameTransaction() {
        #expect(reports(for: 400) { _ in transaction("3/9") } == [30, 330])
    }

    @Test("A list that the worker tries every 7 s is reported at the first attempt after 30 s")
    func lateReadings() {
        var watch = ListLockWatch()
        var reports: [Int] = []
        for second in stride(from: 0, to: 60, by: 7) {
            let now = start + .seconds(second)
            watch.note([list], at: now)
            guard watch.due(at: now) == [list] else { continue }
            if !watch.note([list: transaction("3/9")], at: now).isEmpty { reports.append(second) }
        }
        #expect(reports == [35])
    }

    @Test("A late reading is followed by another one after half of the interval at the earliest")
    func longGap() {
        var watch = ListLockWatch()
        watch.note([list], at: start)
        let seconds = [0, 25, 25, 26, 34, 35].filter { !watch.due(at: start + .seconds($0)).isEmpty }
        #expect(seconds == [0, 25, 34])
    }

    @Test("A transaction that keeps many lists locked is reported once, with their number")
    func transactionWithManyLists() {
        var watch = ListLockWatch()
        let lists = (1...100).map { ListIdentifier("\($0)") }
        let transactions = Dictionary(uniqueKeysWithValues: lists.map { ($0, transaction("3/9")) })
        var reports: [ListLockWatch.Overdue] = []
        for second in 0..<60 {
            let now = start + .seconds(second)
            watch.note(lists, at: now)
            if !watch.due(at: now).isEmpty { reports += watch.note(transactions, at: now) }
        }
        #expect(reports.map(\.lists) == [100])
    }

    @Test("A list is not reported if different transactions lock it one after the other") func otherTransactions() {
        #expect(reports(for: 400) { transaction("3/\($0)") }.isEmpty)
    }

    @Test("A list is not reported if no session has the lock at the time of the look") func nobody() {
        #expect(reports(for: 400) { _ in nil }.isEmpty)
    }

    @Test("A list is not reported if it is free at most looks, and locked for a moment at others") func aMoment() {
        #expect(reports(for: 400) { second in second % 50 == 0 ? transaction("3/\(second)") : nil }.isEmpty)
    }

    @Test("At most 256 lists are watched, and those that were free for 30 s make room for others") func bound() {
        var watch = ListLockWatch()
        let lists = (1...300).map { ListIdentifier("\($0)") }
        watch.note(lists, at: start)
        #expect(watch.due(at: start + .seconds(10)).count == 256)
        watch.note([list], at: start + .seconds(31))
        #expect(watch.due(at: start + .seconds(31)) == [list])
    }

    @Test("A list is not reported if it became free in the meantime") func available() {
        let transaction = transaction("3/9")
        #expect(reports(for: 60, missing: { $0 < 5 || $0 > 40 }) { $0 < 5 || $0 > 40 ? transaction : nil }.isEmpty)
    }
}
