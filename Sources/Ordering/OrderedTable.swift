/// A table whose rows carry a rank in `rank_num`, `rank_den` and `rank`.
package struct OrderedTable: Hashable, Sendable {
    /// What move requests call it: `items`, else `schema.table`.
    package let name: String
    package let schema: String
    package let table: String
    /// The column that says which list a row is in.
    package let listColumn: String
    package let listType: KeyType
    /// The column that identifies a row within its list.
    package let itemColumn: String
    package let itemType: KeyType
    /// Whether placing a missing item inserts it and removing it deletes it: the built-in table only. The rows of a
    /// table of the user's are theirs: removing one there sets its rank to NULL.
    package let ownsRows: Bool

    package init(
        name: String, schema: String, table: String, listColumn: String, listType: KeyType, itemColumn: String,
        itemType: KeyType, ownsRows: Bool
    ) {
        self.name = name
        self.schema = schema
        self.table = table
        self.listColumn = listColumn
        self.listType = listType
        self.itemColumn = itemColumn
        self.itemType = itemType
        self.ownsRows = ownsRows
    }

    /// The first key of the move that names no value of the table's key types, as a rejection.
    func rejectionOfKeys(in move: Move) -> Rejection? {
        for list in move.lists {
            if let rejection = rejection(ofList: list.list) { return rejection }
        }
        let anchor = move.placement?.anchor.map { [$0] } ?? []
        for key in move.items + anchor where !itemType.isCanonical(key) {
            return invalidKey(key, column: itemColumn, type: itemType)
        }
        return nil
    }

    /// A list's key that names no value of the table's list column, as a rejection.
    func rejection(ofList key: String) -> Rejection? {
        listType.isCanonical(key) ? nil : invalidKey(key, column: listColumn, type: listType)
    }

    private func invalidKey(_ key: String, column: String, type: KeyType) -> Rejection {
        Rejection(
            .invalidKey,
            "'\(key)' is not a \(type.rawValue) as PostgreSQL prints it, which column \(column) of \(schema).\(table) needs"
        )
    }
}
