import Ordering
import TestLimit
import Testing

@testable import Administration
@testable import BrocotCLI

@Suite("Failures of brocot check", .usualTimeLimit) struct CheckOutcomeTests {
    private static let names = OrderNames(schema: "public", table: "cards")
    private static let fine = CheckOutcome(findings: .readable(CheckedTable(placeRowsCommand: "")))
    private static let damaged = CheckOutcome(findings: .readable(CheckedTable(placeRowsCommand: "", damagedRows: 1)))
    private static let unreadable = CheckOutcome(findings: .unreadable("no right"))
    /// Another session has locked the table when it is read.
    private static let locked = CheckOutcome(findings: .locked("locked"))
    /// The same, when it is repaired.
    private static let lockedInRepair = CheckOutcome(findings: damaged.findings, failure: lockFailure)
    private static let lockFailure = TableRepair.Failure(.lockTimeout(step: "make the triggers"), in: names)
    /// A repair would leave something to a person, also without the lock.
    private static let lockedInRepairOfUnfinished = CheckOutcome(
        findings: .readable(
            CheckedTable(
                placeRowsCommand: "", faults: [OrderFault(message: "not finished", advice: "")], damagedRows: 1)),
        failure: lockFailure)

    private func status(_ outcomes: CheckOutcome..., unregistered: Bool = false, isRepairing: Bool) -> BrocotCLI
        .ExitStatus?
    {
        CheckOutcome.failure(of: outcomes, unregistered: unregistered, isRepairing: isRepairing)?.status
    }

    @Test("The check of tables fails if a fault is left, or was not looked for")
    func needsRepair() {
        #expect(status(Self.fine, isRepairing: false) == nil)
        #expect(status(Self.fine, Self.damaged, isRepairing: false) == .needsRepair)
        #expect(status(Self.fine, Self.damaged, isRepairing: true) == nil, "it was repaired")
        #expect(status(Self.unreadable, isRepairing: true) == .needsRepair)
        #expect(status(Self.fine, unregistered: true, isRepairing: true) == .needsRepair)
    }

    @Test("The check of tables ends with the status of a lock only if nothing but locks is in the way")
    func onlyLocked() {
        #expect(status(Self.locked, Self.fine, isRepairing: false) == .lockTimeout)
        #expect(status(Self.locked, Self.damaged, isRepairing: false) == .needsRepair)
        #expect(status(Self.locked, unregistered: true, isRepairing: false) == .needsRepair)
        #expect(status(Self.lockedInRepair, Self.locked, isRepairing: true) == .lockTimeout)
        #expect(status(Self.lockedInRepairOfUnfinished, isRepairing: true) == .needsRepair)
    }
}
