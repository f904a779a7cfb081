/// A table whose rows carry a rank in `rank_num`, `rank_den` and `rank`.
package struct OrderedTable: Hashable, Sendable {
    /// What move requests call it: `items`, else `schema.table`.
    package let name: String
    package let schema: String
    package let table: String
    /// The columns that together say which list a row is in.
    package let listColumns: [KeyColumn]
    /// The column that identifies a row within its list.
    package let itemColumn: KeyColumn
    /// Whether placing a missing item inserts a row and removing an item deletes its row. Else removing sets the rank to
    /// NULL.
    package let ownsRows: Bool

    package init(
        name: String, schema: String, table: String, listColumns: [KeyColumn], itemColumn: KeyColumn, ownsRows: Bool
    ) {
        self.name = name
        self.schema = schema
        self.table = table
        self.listColumns = listColumns
        self.itemColumn = itemColumn
        self.ownsRows = ownsRows
    }

    /// The first key of the move that names no value of the table's key types, as a rejection.
    func rejectionOfKeys(in move: Move) -> Rejection? {
        for list in move.lists {
            if let rejection = rejection(ofList: list.list) { return rejection }
        }
        let anchor = move.placement?.anchor.map { [$0] } ?? []
        for key in move.items + anchor where !itemColumn.type.isCanonical(key) {
            return invalidKey(key, of: itemColumn)
        }
        return nil
    }

    /// A list's key that names no value of the table's list column, as a rejection.
    package func rejection(ofList key: String) -> Rejection? {
        listColumns[0].type.isCanonical(key) ? nil : invalidKey(key, of: listColumns[0])
    }

    private func invalidKey(_ key: String, of column: KeyColumn) -> Rejection {
        Rejection(
            .invalidKey,
            "'\(key)' is not a \(column.type.name) as PostgreSQL prints it, which column \(column.name) of "
                + "\(schema).\(table) needs")
    }
}
