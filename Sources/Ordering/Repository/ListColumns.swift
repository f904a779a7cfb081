import LibPQ

/// The list columns in statements: one column for each part of the list's key, or none if the whole table is one list.
///
/// Fragments that precede other columns end with a comma, so that they can be empty without list columns.
struct ListColumns {
    private let table: OrderedTable
    /// The only list of the statement. Then the list columns are compared with its values, from which the planner knows the partition. With
    /// nil, they are compared with columns of another relation.
    private let onlyList: String?
    private var columns: [KeyColumn] { table.listColumns }

    init(_ table: OrderedTable, onlyList: String? = nil) {
        self.table = table
        self.onlyList = onlyList
    }

    /// The list columns in statements for this list alone.
    func limited(to list: String) -> ListColumns { ListColumns(table, onlyList: list) }

    /// Whether there is one list column, and its type is not `varchar`.
    var isSingleAndNotVarchar: Bool { columns.count == 1 && !columns[0].type.isVarchar }

    /// The beginning of `ROWS FROM (…)`: the elements of an array for each column, with one element for each list. The keys must be
    /// valid.
    func arrays(_ lists: [String]) -> SQL {
        var known: [ExactText: [String]] = [:]
        let values = lists.map { list in
            if let values = known[ExactText(list)] { return values }
            let parts = self.values(of: list)
            known[ExactText(list)] = parts
            return parts
        }
        return columns.enumerated().map { index, column in
            "pg_catalog.unnest(\(values.map { $0[index] })::text[]::\(column.type.sql)[]), " as SQL
        }.joined(separator: "")
    }

    /// The columns of ``names(_:of:)`` from an array of texts, which has one element for each column.
    func cast(_ texts: SQL) -> SQL {
        columns.enumerated().map { index, column in
            "(\(texts))[\(unsafeRaw: "\(index + 1)")]::\(column.type.sql) AS \(name(index)), " as SQL
        }.joined(separator: "")
    }

    private func values(of list: String) -> [String] {
        guard let values = table.listValues(of: list) else {
            preconditionFailure("the list's key was checked before")
        }
        return values
    }

    private func name(_ index: Int, _ prefix: String = "list") -> SQL { SQL(unsafeRaw: "\(prefix)_\(index + 1)") }

    /// The names of the columns of ``arrays(_:)``, qualified with a relation if one is given.
    func names(_ prefix: String = "list", of relation: SQL? = nil) -> SQL {
        columns.indices.map { index in
            "\(relation.map { "\($0)." as SQL } ?? "")\(name(index, prefix)), " as SQL
        }.joined(separator: "")
    }

    /// The columns of the table, renamed as in ``names(_:of:)`` if a prefix is given.
    func columns(named prefix: String? = nil) -> SQL {
        columns.enumerated().map { index, column in
            "\(column.identifier)\(prefix.map { " AS \(name(index, $0))" as SQL } ?? ""), " as SQL
        }.joined(separator: "")
    }

    /// The condition that a row is in the list of another relation's row.
    func equal(_ row: SQL, _ key: SQL, named prefix: String = "list") -> SQL {
        conjunction(comparisons(row, keyColumns(of: key, named: prefix)))
    }

    /// The condition of ``equal(_:_:named:)``, in a form that no index supports.
    func equalWithoutIndex(_ row: SQL, _ key: SQL) -> SQL {
        conjunction(comparisons(row, keyColumns(of: key)).map { "(\($0)) IS TRUE" })
    }

    private func comparisons(_ row: SQL, _ values: [SQL]) -> [SQL] {
        zip(columns, values).map { column, value in "\(row).\(column.identifier) \(Operators.equal) \(value)" }
    }

    /// The values of the list columns: those of ``onlyList``, or columns of the other relation.
    private func keyColumns(of key: SQL, named prefix: String = "list") -> [SQL] {
        if let onlyList, prefix == "list" { return literals(of: onlyList) }
        return columns.indices.map { "\(key).\(name($0, prefix))" }
    }

    /// A list's key as constants. The planner doesn't know the value of an array's element, or of a cast that depends on settings.
    private func literals(of list: String) -> [SQL] {
        zip(columns, values(of: list)).map { column, value in "\(literal: value)::\(column.type.sql)" }
    }

    /// A further condition for WHERE that selects the partition of a row which is found by its location; empty if the table has few
    /// partitions.
    ///
    /// The last two conditions are always true, but the planner expects that few keys satisfy them. So reading one row by its location seems
    /// cheaper than reading the list along an index, which the first condition would permit.
    func andLocatedRowIsInPartition(_ row: SQL, _ key: SQL) -> SQL {
        guard table.hasManyPartitions else { return "" }
        let alwaysTrue = [name(0), "item"].map { column in
            "(\(key).\(column) \(Operators.equal) \(key).\(column)) IS TRUE" as SQL
        }
        return " AND \(equal(row, key)) AND \(alwaysTrue.joined(separator: " AND "))"
    }

    /// A further condition for WHERE that selects the partition of a row, after conditions that choose an index; empty if the table has few
    /// partitions.
    ///
    /// The server compares each alternative of OR with the bounds of the partitions, but uses it neither for an index scan nor for the order.
    /// Two equal alternatives would become one condition, so the second one is written in another way.
    func andLookedUpRowIsInPartition(_ row: SQL, _ key: SQL) -> SQL {
        guard table.hasManyPartitions else { return "" }
        let values = keyColumns(of: key)
        let other = zip(columns, values).map { column, value in
            """
            \(value) \(Operators.equal) \(row).\(column.identifier) \
            AND \(row).\(column.identifier) \(Operators.atLeast) \(value)
            """ as SQL
        }
        return " AND (\(conjunction(comparisons(row, values))) OR \(conjunction(other)))"
    }

    /// The condition of ``equal(_:_:named:)``, by two inequalities. So the planner does not treat the column as a constant, which it
    /// would remove from ORDER BY.
    func between(_ row: SQL, _ key: SQL) -> SQL {
        conjunction(
            zip(columns, keyColumns(of: key)).map { column, value in
                """
                \(row).\(column.identifier) \(Operators.atLeast) \(value) \
                AND \(row).\(column.identifier) \(Operators.atMost) \(value)
                """
            })
    }

    /// The value of a list column in the key of another relation's row; nil if the column is not a list column.
    func value(ofColumn column: String, in key: SQL) -> SQL? {
        columns.firstIndex { ExactText($0.name) == ExactText(column) }.map { keyColumns(of: key)[$0] }
    }

    /// The condition that a row is in this list.
    func isIn(_ list: String, _ row: SQL) -> SQL {
        let values =
            table.hasManyPartitions
            ? literals(of: list)
            : zip(columns, values(of: list)).map { column, value in
                "(\([value])::pg_catalog.text[]::\(column.type.sql)[])[1]"
            }
        return conjunction(comparisons(row, values))
    }

    /// The assignments for SET.
    func assignments(from row: SQL, _ prefix: String) -> SQL {
        columns.enumerated().map { index, column in
            "\(column.identifier) = \(row).\(name(index, prefix)), " as SQL
        }.joined(separator: "")
    }

    private func conjunction(_ conditions: [SQL]) -> SQL {
        conditions.isEmpty ? "true" : conditions.joined(separator: " AND ")
    }
}
