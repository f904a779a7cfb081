import LibPQ
import Logging
import Ordering

/// One call of `brocot attach`: it attaches a table, continues an interrupted call, or makes what is missing.
package struct Attachment: Sendable {
    private let definition: OrderDefinition
    private let order: String?
    private let placesAllRows: Bool
    private let mayChangeOptions: Bool
    private let connection: Connection
    private let logger: Logger
    private let attacher: Attacher

    /// - Parameters:
    ///   - definition: The order, with the condition of visibility as the registry has it.
    ///   - order: The text after ORDER BY in which existing rows are placed; nil means by the item column.
    ///   - placesAllRows: Whether rows without a place are placed even if the table has an order already.
    ///   - mayChangeOptions: Whether an order that is attached with other options gets those of `definition`.
    ///   - connection: A connection without an open transaction.
    ///   - logger: Gets notices, and warnings about the table.
    package init(
        _ definition: OrderDefinition, orderedBy order: String? = nil, placingAllRows placesAllRows: Bool = false,
        mayChangeOptions: Bool = false, connection: Connection, logger: Logger
    ) {
        self.placesAllRows = placesAllRows
        self.mayChangeOptions = mayChangeOptions
        self.definition = definition
        self.order = order
        self.connection = connection
        self.logger = logger
        attacher = Attacher(connection: connection, logger: logger)
    }

    /// The plan, after everything that could keep the command from finishing was checked.
    ///
    /// - Parameter forOtherRoles: Whether other roles run the steps, so that the rights of the current one don't matter.
    /// - Returns: The plan.
    /// - Throws: ``AttachError/refused(_:)``, with the reason; an error of the database.
    package func plan(forOtherRoles: Bool = false) async throws(AttachError) -> AttachPlan {
        let names = definition.names
        let table = try await attacher.namingBothOwners(of: names) { () async throws(AttachError) in
            try await attacher.describe(names, listColumns: definition.listColumns)
        }
        var plan = try AttachPlan(definition, on: table, mayChangeOptions: mayChangeOptions)
        if !forOtherRoles {
            if plan.fills { try await attacher.requireBothOwners(of: names) }
            try attacher.requireOwners(
                of: table, names, for: plan.steps, printedBy: "brocot attach --sql", fills: plan.fills)
        }
        if plan.fills {
            try attacher.requireAllRows(of: table, names)
            try await attacher.requireNoUnfinishedFormerNames(of: names)
        }
        try await attacher.requireOwnRanks(plan)
        let filling = filling(plan)
        guard plan.fills else {
            if order != nil, plan.missingColumns > 0, try await filling.lacksOrder(hasColumns: false) {
                throw Self.refusal(of: plan)
            }
            return plan
        }
        if !forOtherRoles, plan.missingColumns == 0 {
            plan.rowsToPlace = try await filling.rowsToPlace(placingAll: placesAllRows)
        }
        // The order that an earlier call stored is used, also if a column of it is gone.
        if case .stored = plan.rowsToPlace { return plan }
        if let order { try await filling.check(order: order) }
        return plan
    }

    /// Attaches the table while no other command attaches, detaches or repairs one. What hinders this is checked before the lock and, because
    /// another command may have changed the table, after it.
    ///
    /// - Parameters:
    ///   - beginning: Called before each step.
    ///   - placing: Called with the number of placed rows and the number of all rows to place.
    /// - Returns: The plan that was carried out, with ``AttachPlan/placedRows``.
    /// - Throws: Why the table is not attached, or not all of its rows are placed.
    @discardableResult
    package func run(
        beginning: (AttachStep) async -> Void = { _ in }, placing: @Sendable (Int, Int) -> Void = { _, _ in }
    ) async throws(AttachError) -> AttachPlan {
        _ = try await plan()
        return try await attacher.exclusively { () async throws(AttachError) in
            var plan = try await plan()
            for note in plan.notes { logger.warning("\(note)") }
            try await warnOfUnusedOrder(plan)
            tell(removedRanks: try await attacher.run(plan, starting: beginning))
            if let rows = plan.rowsToPlace {
                if case .stored(let count) = rows {
                    logger.notice("continuing with the \(count) rows that are not placed yet")
                }
                plan.placedRows = try await filling(plan).run(rows, orderedBy: order, progress: placing)
            }
            return plan
        }
    }

    private func filling(_ plan: AttachPlan) -> Filling {
        Filling(plan.columns, connection: connection, logger: logger)
    }

    /// The registry does not contain the order of the first call, so a different one can't be told from the same one.
    private func warnOfUnusedOrder(_ plan: AttachPlan) async throws(AttachError) {
        guard order != nil else { return }
        switch plan.rowsToPlace {
        case .all: break
        case .stored:
            logger.warning(
                """
                the rows are placed in the order that the first brocot attach stored, and --order-by is not used. For another order: \
                \(definition.names.detachCommand) --drop-columns, and attach the table again
                """)
        case .keptOrder(let unplaced)? where unplaced > 0:
            logger.warning(
                """
                --order-by is not used, because the table has an order already. To place the rows without a place in this order, give \
                --place-rows too
                """)
        case nil where try await filling(plan).lacksOrder(hasColumns: plan.missingColumns == 0):
            logger.warning("no row has a place, and --order-by is not used. \(Self.wayToOrder(plan.definition.names))")
        case .keptOrder, nil: logger.warning("--order-by is not used, because the table has an order already")
        }
    }

    /// The table was created anew, or lost its rank columns. The order that the caller wants would not be used.
    private static func refusal(of plan: AttachPlan) -> AttachError {
        .refused(
            """
            \(plan.definition.names.title): it is attached, but no row has a place, because the table was created anew, or its rank columns were \
            dropped. \(wayToOrder(plan.definition.names)) Nothing was changed.
            """)
    }

    /// How the rows of an attached table that has no order get one.
    private static func wayToOrder(_ names: OrderNames) -> String {
        """
        To place the rows in the order of --order-by: \(names.detachCommand), which rejects pending requests, and then the same brocot attach.
        """
    }

    private func tell(removedRanks count: Int) {
        guard count > 0 else { return }
        logger.warning(
            """
            \(count == 1 ? "1 row" : "\(count) rows") lost the rank, because another row of the list had the same rank, or because the \
            row is in no list. Of these rows, those in a list are now placed last.
            """)
    }
}
