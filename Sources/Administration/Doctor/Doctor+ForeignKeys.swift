import LibPQ
import Ordering

extension Doctor {
    /// Finds unique indexes that make the rank a key for PostgreSQL (see ``OrderObjects/indexPredicate``), in tables that others refer to.
    func foreignKeys(_ connection: Connection) async -> CheckResult {
        await attempt("foreign key", connection) { connection throws(PostgresError) in
            typealias Column = DoctorStatements.RankKeyColumn
            var (indexes, commands): ([String], [String]) = ([], [])
            for row in try connection.query(DoctorStatements.rankKeys) {
                let index: String = try row.decode(Column.index)
                indexes.append(index)
                // PostgreSQL can't drop the index of a partitioned table concurrently.
                commands.append(
                    "DROP INDEX \(try row.decode(Column.isPartitioned) ? "" : "CONCURRENTLY ")\(index)")
            }
            guard !indexes.isEmpty else {
                return .ok("foreign key", "a move waits for no row that refers to the moved row")
            }
            return .warning(
                "foreign key",
                """
                moves, and transactions that insert rows with a foreign key to the moved row, wait for each other, because these \
                unique indexes have no condition: \(indexes.joined(separator: ", "))
                """,
                advice: """
                    As the owner of the table: \(commands.joined(separator: "; ")); and then brocot check --repair, which builds the index \
                    again. Afterwards use REINDEX without CONCURRENTLY, which would drop the condition again.
                    """)
        }
    }
}
