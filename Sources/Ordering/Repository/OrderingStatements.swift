import LibPQ

/// The statements with which moves read and write ordered tables.
///
/// Lists, keys and bounds are arrays, so that one statement serves a whole batch. Each statement names the table's key columns,
/// casts keys to their types, and reads along the unique index of list and rank, or along an index of the item's key.
struct OrderingStatements {
    let table: SQL
    private(set) var listColumns: ListColumns
    let itemColumn: SQL
    let itemType: KeyType
    let lookUpColumns: [String]?
    let rank: SQL
    let num: SQL
    let den: SQL
    /// The condition that a row is visible; nil if all rows are. Its columns are not qualified, so the table must be the only
    /// relation of the query.
    private let visible: SQL?
    /// Whether ``visibilityColumn`` evaluates the condition. Otherwise it is true. This is a parameter, so that the statements are the same.
    private let judgesVisibility: Bool

    init(_ ordered: OrderedTable, judgesVisibility: Bool = false) {
        self.judgesVisibility = judgesVisibility
        table = ordered.names.sql
        listColumns = ListColumns(ordered)
        itemColumn = ordered.itemColumn.identifier
        itemType = ordered.itemColumn.type
        lookUpColumns = ordered.lookUpColumns
        rank = "\(identifier: ordered.names.rank)"
        num = "\(identifier: ordered.names.numerator)"
        den = "\(identifier: ordered.names.denominator)"
        visible = ordered.visible.map { "(\(unsafeRaw: $0)) IS TRUE" }
    }

    /// The statements for rows that are stored in this list alone. Their texts contain the list, so that a plan has one partition.
    func limited(to list: String) -> OrderingStatements {
        var limited = self
        limited.listColumns = listColumns.limited(to: list)
        return limited
    }

    /// A further column that says whether the row is visible; empty if the table has no hidden rows.
    var visibilityColumn: SQL {
        visible.map { ", CASE WHEN \(judgesVisibility) THEN \($0) ELSE true END AS is_visible" } ?? ""
    }

    /// The column ``visibilityColumn`` of a relation that has it, as a further column; empty if the table has no hidden rows.
    func visibilityColumn(of relation: SQL) -> SQL { visible == nil ? "" : ", \(relation).is_visible" }

    /// A further condition for WHERE: only visible rows.
    var andIsVisible: SQL { visible.map { " AND \($0)" } ?? "" }

    /// A relation with the columns of each list's key, `item` and further columns: one row for each element of the arrays.
    ///
    /// `pg_catalog.unnest` takes one array. Without the schema's name it takes several, but a function of another schema would be
    /// preferred to it if there is only one.
    func relation(of lists: [String], _ keys: [String], _ others: [SQL] = []) -> SQL {
        let others = others.map { ", pg_catalog.unnest(\($0))" as SQL }.joined(separator: "")
        return """
            ROWS FROM (\(listColumns.arrays(lists))\(unnested(keys))\(others))
            """
    }

    func unnested(_ keys: [String]) -> SQL { "pg_catalog.unnest(\(keys)::text[]::\(itemType.sql)[])" }

    /// Tells the triggers of an ordered table that Brocot is writing, until ``endOfWriting`` or the end of the transaction.
    static func beginningOfWriting(in orderedTable: String) -> SQL {
        let settings = WritingSettings.of(orderedTable).map { "pg_catalog.set_config(\($0.0), \($0.1), true)" as SQL }
        return "SELECT \(settings.joined())"
    }

    /// Tells the triggers that Brocot is no longer writing.
    static let endOfWriting = beginningOfWriting(in: "")
}
