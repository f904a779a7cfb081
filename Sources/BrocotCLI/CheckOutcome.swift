import Administration

/// What `brocot check` found in a registered table, and what a repair left.
struct CheckOutcome {
    /// The faults before a repair.
    let findings: TableFindings
    /// Why some faults are left after the repair.
    var failure: TableRepair.Failure?

    /// Whether faults are left, or were not looked for.
    private func leavesFaults(isRepairing: Bool) -> Bool {
        failure != nil || (isRepairing ? findings.needsPerson : !findings.areRight)
    }

    /// Whether locks of other sessions are the only reason for what was not done.
    private var isOnlyLocked: Bool {
        guard let failure else { return findings.isLocked }
        return failure.isLocked && !findings.needsPerson
    }

    /// The failure of the command; nil if all is right, or was repaired.
    ///
    /// - Parameters:
    ///   - outcomes: What was found in the tables that are registered.
    ///   - unregistered: Whether the registry lacks a row.
    ///   - isRepairing: Whether the command repairs.
    /// - Returns: `.needsRepair` if faults are left, or if the role may not read a table; `.lockTimeout` if there is no fault, but another
    ///   session has locked a table.
    static func failure(of outcomes: [CheckOutcome], unregistered: Bool, isRepairing: Bool) -> CommandFailure? {
        let left = outcomes.filter { $0.leavesFaults(isRepairing: isRepairing) }
        guard !left.isEmpty || unregistered else { return nil }
        if !unregistered, left.allSatisfy(\.isOnlyLocked) {
            let hasBegunRepair = left.contains { $0.failure != nil }
            return CommandFailure(
                .lockTimeout, "Locked tables were not \(hasBegunRepair ? "repaired, or only in part" : "checked").")
        }
        let advice =
            if !unregistered, left.allSatisfy({ $0.findings.isUnreadable }) {
                "Tables of which this role may not read all rows were not checked."
            } else if isRepairing {
                "This command can't repair some of the faults. The lines above say what to do."
            } else if outcomes.contains(where: { $0.findings.isRepairable }) {
                "To repair the faults, run as the tables' owner: brocot check --repair"
            } else {
                "These faults can't be repaired by brocot check --repair."
            }
        return CommandFailure(.needsRepair, advice)
    }
}
