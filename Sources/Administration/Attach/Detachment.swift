import LibPQ
import Logging
import Ordering

/// One call of `brocot detach`: it detaches a table, or continues an interrupted call.
package struct Detachment: Sendable {
    private let names: OrderNames
    private let dropsColumns: Bool
    private let attacher: Attacher

    /// - Parameters:
    ///   - names: The names of the order's objects.
    ///   - dropsColumns: Whether the three rank columns are dropped too.
    ///   - connection: A connection without an open transaction.
    ///   - logger: Gets notices of waits for other sessions.
    package init(_ names: OrderNames, droppingColumns dropsColumns: Bool, connection: Connection, logger: Logger) {
        self.names = names
        self.dropsColumns = dropsColumns
        attacher = Attacher(connection: connection, logger: logger)
    }

    /// The plan, after everything that could keep the command from finishing was checked.
    ///
    /// - Parameter forOtherRoles: Whether other roles run the steps, so that the rights of the current one don't matter.
    /// - Returns: The plan; nil if the table is not registered.
    /// - Throws: ``AttachError/refused(_:)``, with the reason; an error of the database.
    package func plan(forOtherRoles: Bool = false) async throws(AttachError) -> DetachPlan? {
        let plan = try await attacher.namingBothOwners(of: names) { () async throws(AttachError) in
            try await attacher.planToDetach(names, droppingColumns: dropsColumns)
        }
        if !dropsColumns, let table = plan?.table { try await attacher.requireEndOfFilling(of: table) }
        if !forOtherRoles, let plan, let table = plan.table {
            try attacher.requireOwners(of: table, names, for: plan.steps, printedBy: "brocot detach --dry-run")
        }
        return plan
    }

    /// Whether a table that is not registered has the order's rank columns: `brocot attach` stopped early, or the table was detached before.
    package func leavesRankColumns() async throws(AttachError) -> Bool {
        guard let table = try await attacher.find(names, listColumns: []) else { return false }
        return table.isTable && names.rankColumns.allSatisfy { table.column($0) != nil }
    }

    /// Detaches the table while no other command attaches, detaches or repairs one. What hinders this is checked before the lock and, because
    /// another command may have changed the table, after it.
    ///
    /// - Parameter beginning: Called before each step.
    /// - Returns: Whether the table was registered.
    /// - Throws: Why the table is not detached.
    @discardableResult
    package func run(beginning: (AttachStep) async -> Void = { _ in }) async throws(AttachError) -> Bool {
        guard try await plan() != nil else { return false }
        try await attacher.exclusively { () async throws(AttachError) in
            for step in try await plan()?.steps ?? [] {
                await beginning(step)
                try await attacher.run(step, on: names)
            }
        }
        return true
    }
}
