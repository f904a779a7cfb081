import LibPQ
import Ordering

/// The key and rank columns of an order in statements. They exist, and the keys have types of keys.
///
/// The names of functions, operators and collations are qualified: the user's triggers need the session's `search_path`.
struct OrderColumns: Sendable {
    let names: OrderNames
    let lists: [KeyColumn]
    let item: KeyColumn

    var rank: SQL { "\(identifier: names.rank)" }
    var num: SQL { "\(identifier: names.numerator)" }
    var den: SQL { "\(identifier: names.denominator)" }

    /// The assignments for SET that remove the rank.
    var removal: SQL { "\(rank) = NULL, \(num) = NULL, \(den) = NULL" }

    /// The list columns of a row.
    func lists(of row: SQL) -> [SQL] { lists.map { "\(row).\($0.identifier)" } }

    /// The texts of a row's list columns, which may have different collations.
    func listTexts(of row: SQL) -> SQL {
        let texts = zip(lists, lists(of: row)).map { list, value -> SQL in
            "(\(list.type.text(of: value))) COLLATE pg_catalog.\"C\""
        }
        return "ARRAY[\(texts.joined())]::pg_catalog.text[]"
    }

    func itemText(of row: SQL) -> SQL { item.type.text(of: "\(row).\(item.identifier)") }

    /// The condition that a row is in a list.
    func isInList(_ row: SQL) -> SQL {
        (["true"] + lists(of: row).map { "\($0) IS NOT NULL" }).joined(separator: " AND ")
    }

    /// The condition that a row is in the list with these texts, one for each list column.
    func isIn(_ list: [String], _ row: SQL) -> SQL {
        let conditions = zip(lists, list).map { column, text -> SQL in
            "\(row).\(column.identifier) OPERATOR(pg_catalog.=) \(text)::pg_catalog.text::\(column.type.sql)"
        }
        return (["true"] + conditions).joined(separator: " AND ")
    }
}

extension OrderColumns {
    init(_ table: OrderedTable) {
        self.init(names: table.names, lists: table.listColumns, item: table.itemColumn)
    }
}
