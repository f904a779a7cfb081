import Ordering

/// An order of a table's rows, as somebody asks for it.
package struct OrderDefinition: Hashable, Sendable {
    /// Where rows go that are inserted without a rank.
    package enum Arrival: String, Sendable, CaseIterable {
        case first, last
        /// Nowhere: they stay unplaced.
        case none
    }

    package let names: OrderNames
    /// The columns that say which list a row is in. None: the whole table is one list.
    package let listColumns: [String]
    package let itemColumn: String
    /// Whether placing a missing item inserts a row, and removing an item deletes its row.
    package let ownsRows: Bool
    /// A condition of SQL on the row; nil: every row counts.
    package let visible: String?
    package let arrive: Arrival
    /// Whether arriving rows are placed by the transaction that inserts them, rather than by the daemon.
    package let arriveNow: Bool

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
