import LibPQ
import Ordering

/// The faults of an attached table.
package struct TableFindings: Hashable, Sendable {
    /// Why the table can't be ordered as it is registered. Only a person can repair that.
    package let reasonNotRepairable: String?
    /// Whether the ``reasonNotRepairable`` is no fault of the table: the current role may not read all of its rows.
    package let isUnreadable: Bool
    /// Whether the ``reasonNotRepairable`` is no fault of the table: another session has locked it.
    package let isLocked: Bool
    /// The steps of attach that create missing objects.
    package let missing: [AttachStep]
    /// How many rank columns the first of ``missing`` adds. Nothing is known of the rows until then.
    let missingColumns: Int
    /// The number of rows with an invalid fraction or rank, or with the rank of another row.
    package let damagedRows: Int
    /// The first of them, at most ``mostExamples``.
    package let examples: [DamagedRow]
    /// The number of rows that are in a list but have no place. That is not a fault: they were removed, are not placed yet, or were
    /// written without triggers.
    package let unplacedRows: Int
    /// The number of ``unplacedRows`` that can't get a place, because a key is empty or too long.
    package let unplaceableRows: Int
    /// Whether `brocot attach` has not placed all rows yet, so that requests wait.
    package let isBeingFilled: Bool
    /// The names of other tables that have triggers of this order too: their new rows are requested to be placed in it.
    let othersWithTriggers: [OrderNames]
    /// How many damaged rows are named.
    static let mostExamples = 10
    private let name: String
    private let detachCommand: String

    init(
        _ names: OrderNames, reasonNotRepairable: String? = nil, isUnreadable: Bool = false, isLocked: Bool = false,
        missing: [AttachStep] = [],
        missingColumns: Int = 0,
        damagedRows: Int = 0, examples: [DamagedRow] = [], unplacedRows: Int = 0, unplaceableRows: Int = 0,
        isBeingFilled: Bool = false, othersWithTriggers: [OrderNames] = []
    ) {
        name = names.orderedTable
        detachCommand = names.detachCommand
        // Each line begins with the name of the order already.
        self.reasonNotRepairable = reasonNotRepairable.map(names.withoutTable)
        self.isUnreadable = isUnreadable
        self.isLocked = isLocked
        self.missing = missing
        self.missingColumns = missingColumns
        self.damagedRows = damagedRows
        self.examples = examples
        self.unplacedRows = unplacedRows
        self.unplaceableRows = unplaceableRows
        self.isBeingFilled = isBeingFilled
        self.othersWithTriggers = othersWithTriggers
    }

    /// Whether all was read, and nothing has to be repaired.
    package var isEmpty: Bool { !needsPerson && missing.isEmpty && damagedRows == 0 }

    /// Whether `brocot check --repair` can repair something.
    package var isRepairable: Bool { reasonNotRepairable == nil && (!missing.isEmpty || damagedRows > 0) }

    /// Whether something would be left after the repair.
    package var needsPerson: Bool { reasonNotRepairable != nil || isBeingFilled || !othersWithTriggers.isEmpty }

    /// One line for each finding.
    ///
    /// - Parameter placingRows: Whether the rows without a place are about to be placed.
    /// - Returns: The lines, for people.
    package func lines(placingRows: Bool = false) -> [String] {
        var lines = reasonNotRepairable.map { [$0] } ?? []
        if isBeingFilled {
            lines.append(
                "brocot attach is not finished, so requests wait. Run the same brocot attach again, or: \(detachCommand)"
            )
        }
        lines += othersWithTriggers.map {
            "\($0.schema).\($0.table) has the triggers of this order too. \($0.adviceToDropTriggers)"
        }
        let names = missing.flatMap(\.missing)
        if !missing.isEmpty {
            lines.append("missing: \((names.isEmpty ? missing.map(\.purpose) : names).joined(separator: ", "))")
        }
        if damagedRows > 0 {
            lines.append("rows with a wrong rank, or with the rank of another row: \(damagedRows)")
            lines += examples.map { "  \($0.text)" }
            if damagedRows > examples.count { lines.append("  and \(damagedRows - examples.count) more") }
        }
        if isEmpty { lines.append("all is right") }
        if missingColumns == OrderObjects.rankColumnTypes.count && !isBeingFilled {
            lines.append(
                placingRows
                    ? "no row has a place. The daemon is asked to place all of them, in the order of their keys"
                    : "no row has a place. To place all of them: brocot check --repair --place-rows")
        } else if missingColumns > 0 && !isBeingFilled {
            lines.append(
                """
                the ranks of all rows are wrong: a repair calculates them from the columns that are left, or asks the daemon to place \
                all rows in the order that is left
                """)
        }
        if unplacedRows > unplaceableRows {
            let count = unplacedRows - unplaceableRows
            let rows = count == 1 ? "1 row is in a list but has" : "\(count) rows are in a list but have"
            lines.append(
                placingRows
                    ? "\(rows) no place. The daemon is asked to place them"
                    : """
                    \(rows) no place (new, removed from the order, or never placed). To place all of them: \
                    brocot check --repair --place-rows
                    """)
        }
        if unplaceableRows > 0 {
            let rows =
                unplaceableRows == 1 ? "1 row is in a list but can" : "\(unplaceableRows) rows are in a list but can"
            lines.append(
                """
                \(rows) have no place: the key of the item is empty, or the key of the item or the list is longer than \
                \(Move.longestKey) bytes
                """)
        }
        return lines
    }
}
