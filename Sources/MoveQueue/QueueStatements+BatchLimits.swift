import LibPQ
import Ordering

/// How the lists of a batch share its limits. This is a part of the statement that reads their requests.
extension QueueStatements {
    /// Each item counts as at least this many bytes.
    private static let leastBytesOfItem: SQL = "100"
    /// No compression that PostgreSQL has exceeds this ratio. That of LZ4 is nearly 255, and that of pglz less.
    private static let largestCompressionRatio: SQL = "256"
    /// A larger value may be stored out of line, and counting its elements would read it. PostgreSQL stores values out of line if a row
    /// is larger than TOAST_TUPLE_THRESHOLD, about 2 kB.
    private static let largestInlineSize: SQL = "2000"
    /// How many times its own size an array counts at most. An element has at least 8 bytes, and counts as 100.
    private static let largestCountRatio: SQL = "13"
    /// Only requests within this many times the limit of bytes are measured exactly, because that decompresses them.
    private static let largestMeasuredMultiple: SQL = "64"

    /// Whether all candidates are within the limits of the batch and, if not, which ones are taken.
    ///
    /// The requests of a list are taken in their order. Among the lists, requests come first that have the fewest bytes together
    /// with the earlier requests of their list. So a list with little work never waits for a list with much. The requests of the
    /// list `preferred` come before all others. At least one request is taken.
    ///
    /// The bytes of names and keys count in decompressed form. To know the size of compressed items, the server must decompress them.
    /// So a first bound uses the largest possible size.
    ///
    /// Each step reads the rows of the one before:
    ///
    /// - `estimated`: the candidates with an upper bound of their bytes.
    /// - `limits`: whether all of them are within the limits. If so, the next steps have no rows.
    /// - `once`: each request once. A change of list is a candidate of both lists.
    /// - `queued`, `bounded`: in which order they are taken, by that bound.
    /// - `measured`, `shared`: how many bytes are taken so far, and whether a request is still taken.
    static func batchLimits(total: Int, bytes: Int, preferred: ListIdentifier?) -> [CommonTableExpression] {
        [
            estimated, limits(total: total, bytes: bytes), once(preferred: preferred), queued, bounded,
            measured(bytes: bytes), shared(total: total, bytes: bytes),
        ]
    }

    private static let estimated = CommonTableExpression(
        "estimated", as: .materialized,
        """
        SELECT candidate.*,
            pg_catalog.octet_length(candidate.list) + coalesce(pg_catalog.octet_length(candidate.anchor), 0)
                + coalesce(pg_catalog.octet_length(candidate.from_list), 0) AS name_bytes,
            CASE WHEN pg_catalog.pg_column_compression(candidate.items) IS NOT NULL
                THEN \(largestCompressionRatio)::bigint * pg_catalog.pg_column_size(candidate.items)
                WHEN pg_catalog.pg_column_size(candidate.items) > \(largestInlineSize)
                THEN \(largestCountRatio)::bigint * pg_catalog.pg_column_size(candidate.items)
                ELSE \(countedBytes("candidate", size: "pg_catalog.pg_column_size(candidate.items)"))
            END AS most_bytes
        FROM candidate
        """)

    /// The bytes as which the items of a row count. `size` is their size.
    private static func countedBytes(_ row: SQL, size: SQL) -> SQL {
        "greatest(\(size), \(leastBytesOfItem) * pg_catalog.cardinality(\(row).items))"
    }

    private static func limits(total: Int, bytes: Int) -> CommonTableExpression {
        CommonTableExpression(
            "limits", as: .materialized,
            """
            SELECT count(*) <= \(total)::bigint
                AND coalesce(sum(estimated.most_bytes + estimated.name_bytes), 0) <= \(bytes)::numeric AS are_met
            FROM estimated
            """)
    }

    private static func once(preferred: ListIdentifier?) -> CommonTableExpression {
        let isPreferred =
            preferred.map { list -> SQL in
                """
                (estimated.ordered_table = \(list.orderedTable) AND (
                    estimated.list = \(list.key) OR coalesce(estimated.from_list = \(list.key), false)))
                """
            } ?? "false"
        return CommonTableExpression(
            "once",
            """
            SELECT DISTINCT ON (estimated.id) estimated.*, \(isPreferred) AS is_preferred
            FROM estimated
            WHERE NOT (SELECT are_met FROM limits)
            ORDER BY estimated.id
            """)
    }

    private static let queued = CommonTableExpression(
        "queued",
        """
        SELECT once.*, sum(once.most_bytes) OVER (
                PARTITION BY once.ordered_table, once.list ORDER BY once.id ROWS UNBOUNDED PRECEDING
            ) AS bytes_of_list
        FROM once
        """)

    private static let bounded = CommonTableExpression(
        "bounded",
        """
        SELECT queued.*, sum(queued.most_bytes) OVER in_order AS most_bytes_so_far, row_number() OVER in_order AS number
        FROM queued
        WINDOW in_order AS (
            ORDER BY queued.is_preferred DESC, CASE WHEN queued.is_preferred THEN 0 ELSE queued.bytes_of_list END, queued.id
            ROWS UNBOUNDED PRECEDING)
        """)

    private static func measured(bytes: Int) -> CommonTableExpression {
        let inlineSize = countedBytes("bounded", size: "pg_catalog.pg_column_size(bounded.items)")
        let fullSize = countedBytes("bounded", size: "pg_catalog.octet_length(pg_catalog.array_send(bounded.items))")
        return CommonTableExpression(
            "measured",
            """
            SELECT bounded.*,
                sum(bounded.name_bytes + CASE
                    WHEN bounded.number > 1
                        AND bounded.most_bytes_so_far > \(largestMeasuredMultiple)::numeric * \(bytes)::numeric
                    THEN bounded.most_bytes
                    WHEN pg_catalog.pg_column_compression(bounded.items) IS NULL THEN \(inlineSize)
                    ELSE \(fullSize)
                END) OVER (ORDER BY bounded.number ROWS UNBOUNDED PRECEDING) AS bytes_so_far
            FROM bounded
            """)
    }

    private static func shared(total: Int, bytes: Int) -> CommonTableExpression {
        CommonTableExpression(
            "shared", as: .materialized,
            """
            SELECT measured.*, measured.number = 1 OR (
                measured.number <= \(total)::bigint AND measured.bytes_so_far <= \(bytes)::numeric) AS fits
            FROM measured
            """)
    }
}
