/// A table whose rows have a rank in three columns: the sort key, and numerator and denominator of the exact fraction.
package struct OrderedTable: Hashable, Sendable {
    /// The name in requests, such as `items` or `schema.table`.
    package let name: String
    /// The names of the objects of this order.
    package let names: OrderNames
    /// The columns that together name the list of a row. Without any, the whole table is one list.
    package let listColumns: [KeyColumn]
    /// The column that identifies a row within its list.
    package let itemColumn: KeyColumn
    /// The columns of the unique index by which rows have to be looked up, in the order of the index. With nil, rows are looked up
    /// by any index that begins with the item, or with the list and the item.
    let lookUpColumns: [String]?
    /// Whether placing a missing item inserts a row, and removing an item deletes its row. Otherwise removing an item sets its
    /// rank to NULL.
    package let ownsRows: Bool
    /// The end of the list at which new rows are placed.
    let arrivalEnd: ListEnd
    /// The condition of visible rows, as the server prints it if only `pg_catalog` is in the `search_path`; nil if all rows are
    /// visible.
    package let visible: String?
    /// Whether the table has so many partitions (see ``mostPlannedPartitions``) that each list gets plans of its partition alone. The table is
    /// partitioned by list columns, so each list is in one partition.
    let hasManyPartitions: Bool
    /// Whether a list column is in a key that a foreign key may refer to, or the table is partitioned. Then a change of list needs the row lock of a
    /// change of keys, for which an INSERT of a row that refers to the row has to end.
    let listIsInKey: Bool
    /// The trigger function of another order that would undo each move, because the table had another name when it was attached.
    let keepFunctionOfOtherOrder: String?
    /// The most partitions of which a plan for all lists is made and kept. With 100 partitions, a batch of 250 lists takes the same time with
    /// one plan as with a plan for each list. With 1,500 partitions, the one plan takes seconds.
    package static let mostPlannedPartitions = 100

    /// Whether this is the built-in table, `brocot.items`. Its rows have no columns of the user, each row has a rank, its unique key
    /// of ranks is deferrable, and it has none of the triggers that `brocot attach` creates.
    package var isBuiltIn: Bool { name == Self.builtInName }
    package static let builtInName = "items"

    package init(
        name: String, schema: String, table: String, listColumns: [KeyColumn], itemColumn: KeyColumn, ownsRows: Bool,
        rankColumn: String = OrderNames.usualRankColumn, arrivalEnd: ListEnd = .last, visible: String? = nil,
        lookUpColumns: [String]? = nil, hasManyPartitions: Bool = false, listIsInKey: Bool = true,
        keepFunctionOfOtherOrder: String? = nil
    ) {
        self.listIsInKey = listIsInKey
        self.keepFunctionOfOtherOrder = keepFunctionOfOtherOrder
        self.hasManyPartitions = hasManyPartitions
        self.visible = visible
        self.lookUpColumns = lookUpColumns
        self.arrivalEnd = arrivalEnd
        self.name = name
        names = OrderNames(schema: schema, table: table, rank: rankColumn)
        self.listColumns = listColumns
        self.itemColumn = itemColumn
        self.ownsRows = ownsRows
    }

    /// A rejection for the first key of the move that is not a canonical text of the table's key types.
    func rejectionOfKeys(in move: Move) -> Rejection? {
        for list in move.lists {
            if let rejection = rejection(ofList: list.key) { return rejection }
        }
        let anchor = move.placement?.anchor.map { [$0] } ?? []
        for key in move.items + anchor where !itemColumn.type.isCanonical(key) {
            return invalidKey(key, of: itemColumn)
        }
        return nil
    }

    /// A rejection, if the list's key is not a canonical text of the table's list columns.
    package func rejection(ofList key: String) -> Rejection? {
        guard let values = listValues(of: key) else {
            let form =
                listColumns.isEmpty
                ? "empty: the whole table is one list"
                : "a JSON array of the \(listColumns.count) texts, as brocot.list_key gives it"
            return Rejection(.invalidKey, "'\(key)' is no list of \(names.title), whose key is \(form)")
        }
        for (column, value) in zip(listColumns, values) where !column.type.isCanonical(value) {
            return invalidKey(value, of: column)
        }
        return nil
    }

    /// The text of each list column in a list's key; nil if the key doesn't have the right form.
    package func listValues(of key: String) -> [String]? {
        switch listColumns.count {
        case 0: return key.isEmpty ? [] : nil
        case 1: return [key]
        default:
            guard let parts = ListKey.parts(of: key), parts.count == listColumns.count else { return nil }
            return parts
        }
    }

    private func invalidKey(_ key: String, of column: KeyColumn) -> Rejection {
        Rejection(
            .invalidKey,
            "'\(key)' is not \(column.type.nameWithArticle) as PostgreSQL prints it, which column \(column.name) of "
                + "\(names.title) needs" + (column.type.isCastableUUID(key) ? "; cast it: '\(key)'::uuid" : ""))
    }
}
