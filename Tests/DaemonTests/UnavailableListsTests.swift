import MoveQueue
import Ordering
import Testing

@testable import Daemon

@Suite("Reports of lists that one transaction keeps locked", .timeLimit(.minutes(30)))
struct UnavailableListsTests {
    private let list = ListIdentifier(orderedTable: "items", list: "a")
    private let start = ContinuousClock.now

    /// Fails to lock the list once a second, and returns the seconds at which a report comes.
    private func reports(
        for seconds: Int, missing: (Int) -> Bool = { _ in true }, holder: (Int) -> LockHolder?
    ) -> [Int] {
        var unavailable = UnavailableLists()
        var reports: [Int] = []
        for second in 0..<seconds {
            let now = start + .seconds(second)
            if missing(second) { unavailable.note([list], at: now) }
            guard unavailable.due(at: now) == [list] else { continue }
            let holders = holder(second).map { [list: $0] } ?? [:]
            if !unavailable.note(holders: holders, at: now).isEmpty { reports.append(second) }
        }
        return reports
    }

    @Test("A list that one transaction keeps locked is reported after it was seen for 30 s, and then every 5 minutes")
    func sameTransaction() {
        #expect(
            reports(for: 400) { _ in .init(owner: .session(7), transaction: "3/9", applicationName: "psql") } == [40, 340])
    }

    @Test("A list is not reported if different transactions lock it one after the other") func otherTransactions() {
        #expect(reports(for: 400) { .init(owner: .session(7), transaction: "3/\($0)", applicationName: "psql") }.isEmpty)
    }

    @Test("A list is not reported if no session has the lock at the time of the look") func nobody() {
        #expect(reports(for: 400) { _ in nil }.isEmpty)
    }

    @Test("A list is not reported if it is free at most looks, and locked for a moment at others") func aMoment() {
        #expect(
            reports(for: 400) { second in
                second % 50 == 0 ? .init(owner: .session(7), transaction: "3/\(second)", applicationName: "brocot") : nil
            }.isEmpty)
    }

    @Test("A list is not reported if it became free in the meantime") func available() {
        let holder = LockHolder(owner: .session(7), transaction: "3/9", applicationName: "psql")
        #expect(reports(for: 60, missing: { $0 < 5 || $0 > 40 }) { $0 < 5 || $0 > 40 ? holder : nil }.isEmpty)
    }
}
