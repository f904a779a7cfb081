import Ordering

/// An order of a table's rows, as a person defines it.
package struct OrderDefinition: Hashable, Sendable {
    /// The end of the list at which inserted rows are placed.
    package enum Arrival: String, Sendable, CaseIterable {
        case first, last
        /// Inserted rows stay unplaced.
        case none
    }

    package let names: OrderNames
    /// The columns that together name the list of a row. Without any, the whole table is one list.
    package let listColumns: [String]
    package let itemColumn: String
    /// Whether placing a missing item inserts a row, and removing an item deletes its row.
    package let ownsRows: Bool
    /// The SQL condition of visible rows; nil if all rows are visible.
    package let visible: String?
    package let arrive: Arrival
    /// Whether inserted rows are placed by the transaction that inserts them, and not by the daemon.
    package let arriveNow: Bool

    /// The list columns, then the item column.
    var keyColumns: [String] { listColumns + [itemColumn] }

    package init(
        names: OrderNames, listColumns: [String], itemColumn: String, ownsRows: Bool = false, visible: String? = nil,
        arrive: Arrival = .last, arriveNow: Bool = false
    ) {
        self.names = names
        self.listColumns = listColumns
        self.itemColumn = itemColumn
        self.ownsRows = ownsRows
        self.visible = visible
        self.arrive = arrive
        self.arriveNow = arriveNow
    }
}
