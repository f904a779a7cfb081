import LibPQ
import Ordering

extension Doctor {
    /// Finds unique indexes that make the rank a key for PostgreSQL (see ``OrderObjects/indexPredicate``), in tables that others refer to.
    func references(_ connection: Connection) async -> CheckResult {
        await attempt("references", connection) { connection throws(PostgresError) in
            typealias Column = DoctorStatements.RankKeyColumn
            var (indexes, names): ([String], [OrderNames]) = ([], [])
            for row in try connection.query(DoctorStatements.rankKeys) {
                indexes.append(try row.decode(Column.index))
                names.append(
                    OrderNames(
                        schema: try row.decode(Column.schema), table: try row.decode(Column.table),
                        rank: try row.decode(Column.rank)))
            }
            guard !indexes.isEmpty else {
                return .ok("references", "a move waits for no row that refers to the moved row")
            }
            return .warning(
                "references",
                """
                moves wait for transactions that have inserted rows with a foreign key to the moved row, and the reverse, because \
                these unique indexes have no condition: \(indexes.joined(separator: ", "))
                """,
                advice: """
                    Run \(names[0].detachCommand), and then brocot attach with the same options. The order stays. Afterwards use REINDEX \
                    without CONCURRENTLY, which would drop the condition again.
                    """)
        }
    }
}

extension DoctorStatements {
    /// The columns of ``rankKeys``.
    enum RankKeyColumn: Int { case index, schema, table, rank }

    /// The unique indexes without a condition that contain the rank column of an attached table or of a partition of it, if a foreign
    /// key refers to this relation.
    static let rankKeys: SQL = """
        SELECT DISTINCT found.indexrelid::regclass::text, registered.schema_name, registered.table_name, registered.rank_column
        FROM brocot.ordered_tables AS registered
        CROSS JOIN pg_catalog.to_regclass(pg_catalog.format('%I.%I', registered.schema_name, registered.table_name)) AS root
        LEFT JOIN LATERAL pg_catalog.pg_partition_tree(root) AS part ON true
        JOIN pg_catalog.pg_index AS found
            ON found.indrelid = coalesce(part.relid, root) AND found.indisunique AND found.indimmediate AND found.indpred IS NULL
        JOIN pg_catalog.pg_attribute AS ranked
            ON ranked.attrelid = found.indrelid AND ranked.attname = registered.rank_column
            AND ranked.attnum = ANY (found.indkey[:found.indnkeyatts - 1])
        WHERE EXISTS (
            SELECT FROM pg_catalog.pg_constraint AS reference
            WHERE reference.contype = 'f' AND reference.confrelid = found.indrelid)
        ORDER BY 1
        """
}
