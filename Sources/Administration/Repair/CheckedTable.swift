import Ordering

/// What was found in an attached table and its rows.
package struct CheckedTable: Hashable, Sendable {
    /// The command that places the rows without a place.
    let placeRowsCommand: String
    /// The faults that only a person can repair.
    var faults: [OrderFault] = []
    /// The names of missing objects, or what the steps do if none is missing.
    var missing: [String] = []
    var steps = RepairSteps()
    /// How many rank columns are missing. Nothing is known of the rows then.
    var missingColumns = 0
    /// Whether `brocot attach` has not placed all rows yet.
    var isBeingFilled = false
    /// The number of rows with an invalid fraction or rank, or with the rank of another row.
    package internal(set) var damagedRows = 0
    /// The first of them, at most ``mostExamples``.
    var examples: [DamagedRow] = []
    /// The number of rows that are in a list but have no place. That is not a fault: they were removed, are not placed yet, or were
    /// written without triggers.
    package internal(set) var unplacedRows = 0
    /// The number of ``unplacedRows`` that can't get a place, because a key is empty or too long.
    var unplaceableRows = 0

    /// How many damaged rows are named.
    static let mostExamples = 10

    init(placeRowsCommand: String, faults: [OrderFault] = [], damagedRows: Int = 0) {
        (self.placeRowsCommand, self.faults, self.damagedRows) = (placeRowsCommand, faults, damagedRows)
    }

    var isRepairable: Bool { !missing.isEmpty || damagedRows > 0 }
    var isRight: Bool { faults.isEmpty && !isRepairable }

    /// See ``TableFindings/lines(placingRows:)``.
    func lines(placingRows: Bool) -> [String] {
        var lines = faults.map(\.text)
        if !missing.isEmpty { lines.append("missing: \(missing.joined(separator: ", "))") }
        if damagedRows > 0 {
            lines.append("rows with a wrong rank, or with the rank of another row: \(damagedRows)")
            lines += examples.map { "  \($0.text)" }
            if damagedRows > examples.count { lines.append("  and \(damagedRows - examples.count) more") }
        }
        if isRight { lines.append("all is right") }
        if missingColumns == OrderObjects.rankColumnTypes.count && !isBeingFilled {
            lines.append(
                placingRows
                    ? "no row has a place. The daemon is asked to place all of them, in the order of their keys"
                    : """
                    no row has a place. To place all of them in the order of their keys: \(placeRowsCommand). For another order, detach \
                    the table, and attach it with --order-by
                    """)
        } else if missingColumns > 0 && !isBeingFilled {
            lines.append(
                """
                the ranks of all rows are wrong: a repair calculates them from the columns that are left, or asks the daemon to place \
                all rows in the order that is left
                """)
        }
        if unplacedRows > unplaceableRows {
            let count = unplacedRows - unplaceableRows
            lines.append(
                placingRows
                    ? "\(OrderNames.descriptionOfUnplaced(count)). The daemon is asked to place them"
                    : OrderNames.adviceOnUnplaced(count, placedBy: placeRowsCommand))
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
