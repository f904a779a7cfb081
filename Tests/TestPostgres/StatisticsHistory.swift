import LibPQ

/// A history of `brocot.items`, which determines the planner's statistics.
package struct StatisticsHistory: CustomStringConvertible, Sendable {
    private let name: String
    /// VACUUM must be a statement of its own.
    private let statements: [String]

    package var description: String { name }

    private init(_ name: String, _ statements: String...) {
        self.name = name
        self.statements = statements
    }

    /// Each history except the last leaves a list `l1` with thousands of items. Their names are numbers, which are also
    /// their ranks.
    package static let all = [
        StatisticsHistory("never analysed", threeLists),
        StatisticsHistory("analysed", threeLists, "VACUUM ANALYZE brocot.items"),
        // After such a VACUUM, the planner assumes that these pages stay empty, however many rows are written into
        // them.
        StatisticsHistory(
            "emptied when it was vacuumed and analysed, and filled then", threeLists, "DELETE FROM brocot.items",
            "VACUUM (ANALYZE, TRUNCATE off) brocot.items", threeLists),
        StatisticsHistory(
            "emptied when it was vacuumed, never analysed, and filled then", threeLists, "DELETE FROM brocot.items",
            "VACUUM (TRUNCATE off) brocot.items", threeLists),
        StatisticsHistory(
            "tiny when it was analysed, and grown since", list("'l1'", "generate_series(-3, 0)"),
            "VACUUM ANALYZE brocot.items", threeLists),
        StatisticsHistory(
            "many lists of one item, and a long one", list("'one' || n", "generate_series(1, 10000)"),
            list("'l1'", "generate_series(1, 5000)"), "VACUUM ANALYZE brocot.items"),
        StatisticsHistory(
            "one huge list", list("'l1'", "generate_series(1, 20000)"), "VACUUM ANALYZE brocot.items"),
        // This is the state in which a daemon plans its statements before the first request.
        StatisticsHistory(
            "emptied", threeLists, "DELETE FROM brocot.items", "VACUUM (ANALYZE) brocot.items"),
    ]

    private static let threeLists = list("'l' || n % 3", "generate_series(1, 20000)")

    private static func list(_ key: String, _ numbers: String) -> String {
        """
        INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
        SELECT \(key), n::text, n, 1, n FROM \(numbers) AS n
        """
    }

    /// Whether the table had thousands of rows in each list when it was analysed, or was never analysed.
    package var isUsual: Bool { Self.all.prefix(2).contains { $0.name == name } }

    /// Gives the table this history.
    package func take(on connection: Connection) async throws(PostgresError) {
        try await connection.execute(script: "TRUNCATE brocot.items")
        for statement in statements { try await connection.execute(script: statement) }
    }
}
