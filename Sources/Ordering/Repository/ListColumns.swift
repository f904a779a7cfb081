import LibPQ

/// The list columns in statements: one column for each part of the list's key, or none if the whole table is one list.
///
/// Fragments that precede other columns end with a comma, so that they can be empty without list columns.
struct ListColumns {
    private let table: OrderedTable
    private var columns: [KeyColumn] { table.listColumns }

    init(_ table: OrderedTable) { self.table = table }

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
        conjunction(comparisons(row, key, named: prefix))
    }

    /// The condition of ``equal(_:_:named:)``, in a form that no index supports.
    func equalWithoutIndex(_ row: SQL, _ key: SQL) -> SQL {
        conjunction(comparisons(row, key).map { "(\($0)) IS TRUE" })
    }

    private func comparisons(_ row: SQL, _ key: SQL, named prefix: String = "list") -> [SQL] {
        columns.enumerated().map { index, column in
            "\(row).\(column.identifier) \(Operators.equal) \(key).\(name(index, prefix))"
        }
    }

    /// The condition of ``equal(_:_:named:)``, by two inequalities. So the planner does not treat the column as a constant, which it
    /// would remove from ORDER BY.
    func between(_ row: SQL, _ key: SQL) -> SQL {
        conjunction(
            columns.enumerated().map { index, column in
                """
                \(row).\(column.identifier) \(Operators.atLeast) \(key).\(name(index)) \
                AND \(row).\(column.identifier) \(Operators.atMost) \(key).\(name(index))
                """
            })
    }

    /// The name of a list column in ``names(_:of:)``; nil if the column is not a list column.
    func name(ofColumn column: String) -> SQL? {
        columns.firstIndex { ExactText($0.name) == ExactText(column) }.map { name($0) }
    }

    /// The condition that a row is in this list.
    func isIn(_ list: String, _ row: SQL) -> SQL {
        conjunction(
            zip(columns, values(of: list)).map { column, value in
                "\(row).\(column.identifier) \(Operators.equal) (\([value])::pg_catalog.text[]::\(column.type.sql)[])[1]"
            })
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
