import LibPQ

/// A query with a name, which later queries of the same statement read like a table: `name AS (SELECT …)`.
struct CommonTableExpression: Sendable {
    enum Evaluation {
        /// The planner may merge the query into those that read it.
        case asPlanned
        /// The query is evaluated once, and its rows are kept.
        case materialized
        /// The query reads its own rows.
        case recursive
    }

    fileprivate let definition: SQL
    fileprivate let isRecursive: Bool

    /// - Parameters:
    ///   - name: The name; with the names of the columns, if the query does not give them: `lists (ordered_table, list)`.
    ///   - evaluation: How the server evaluates the query.
    ///   - query: The query, without parentheses.
    init(_ name: SQL, as evaluation: Evaluation = .asPlanned, _ query: SQL) {
        let materialized: SQL = evaluation == .materialized ? "MATERIALIZED " : ""
        definition = """
            \(name) AS \(materialized)(
            \(query)
            )
            """
        isRecursive = evaluation == .recursive
    }
}

extension SQL {
    /// A statement that reads common table expressions. Each of these may read those before it.
    static func with(_ expressions: [CommonTableExpression], _ statement: SQL) -> SQL {
        """
        WITH \(expressions.contains(where: \.isRecursive) ? "RECURSIVE " : "" as SQL)\(expressions.map(\.definition).joined())
        \(statement)
        """
    }
}
