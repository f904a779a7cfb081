import LibPQ
import Ordering

/// The statement that reads the requests of locked lists.
extension QueueStatements {
    /// The earliest requests of locked lists, and the current time, in one snapshot.
    ///
    /// At most `limit` requests of each list as target, and as source, are considered. If these are more than `total`, or have
    /// more than `bytes`, the lists share the room: see ``sharedRoom(total:bytes:preferred:)``. A row without a placement means that
    /// the requests of a list from that id on were left out.
    static func pending(
        in lists: [ListIdentifier], limit: Int, total: Int, bytes: Int, preferred: ListIdentifier? = nil,
        _ progress: ReadProgress
    ) -> SQL {
        """
        WITH moment AS MATERIALIZED (
            SELECT pg_catalog.clock_timestamp() AS now
        ), wanted AS MATERIALIZED (
            SELECT * FROM unnest(
                \(lists.map(\.orderedTable)), \(lists.map(\.list)), \(lists.map(progress.floor(of:)))
            ) AS wanted (ordered_table, list, floor)
        ), candidate AS (
            SELECT as_target.* FROM wanted CROSS JOIN LATERAL (
                \(earliest("request.*, request.ctid AS location", by: "list", of: "wanted", limit: limit))
            ) AS as_target
            UNION ALL
            SELECT as_source.* FROM wanted CROSS JOIN LATERAL (
                \(earliest("request.*, request.ctid AS location", by: "from_list", of: "wanted", limit: limit))
            ) AS as_source
        ), \(sharedRoom(total: total, bytes: bytes, preferred: preferred)), result AS (
            SELECT estimated.id, estimated.ordered_table, estimated.list, estimated.items, estimated.placement,
                estimated.anchor, estimated.position, estimated.from_list, estimated.location, estimated.missing
            FROM estimated WHERE (SELECT is_enough FROM room)
            UNION ALL
            SELECT shared.id, shared.ordered_table, shared.list, shared.items, shared.placement,
                shared.anchor, shared.position, shared.from_list, shared.location, shared.missing
            FROM shared WHERE shared.fits
            UNION ALL
            SELECT min(shared.id), shared.ordered_table, shared.list, NULL, NULL, NULL, NULL, NULL, NULL, NULL
            FROM shared WHERE NOT shared.fits GROUP BY shared.ordered_table, shared.list
            UNION ALL
            SELECT min(shared.id), shared.ordered_table, shared.from_list, NULL, NULL, NULL, NULL, NULL, NULL, NULL
            FROM shared WHERE NOT shared.fits AND shared.from_list IS NOT NULL
            GROUP BY shared.ordered_table, shared.from_list
        )
        SELECT result.id, result.ordered_table, result.list, result.items, result.placement, result.anchor,
            result.position, result.from_list, moment.now, result.location::text, result.missing
        FROM result CROSS JOIN moment
        """
    }

    /// Whether there is room for all candidates and, if not, which ones are taken.
    ///
    /// The requests of a list are taken in their order. Among the lists, requests come first that have the fewest bytes together
    /// with the earlier requests of their list. So a list with little work never waits for a list with much. The requests of the
    /// list `preferred` come before all others. At least one request is taken.
    ///
    /// The bytes of names and keys count in decompressed form, and at least 100 for each item. To know the size of compressed
    /// items, the server must decompress them. So a first bound uses the largest possible size, because no compression exceeds
    /// 256 to 1. Only requests within 64 times the room are then measured exactly.
    private static func sharedRoom(total: Int, bytes: Int, preferred: ListIdentifier?) -> SQL {
        let isPreferred =
            preferred.map { list -> SQL in
                """
                (estimated.ordered_table = \(list.orderedTable) AND (
                    estimated.list = \(list.list) OR coalesce(estimated.from_list = \(list.list), false)))
                """
            } ?? "false"
        return """
            estimated AS MATERIALIZED (
                SELECT candidate.*,
                    pg_catalog.octet_length(candidate.list) + coalesce(pg_catalog.octet_length(candidate.anchor), 0)
                        + coalesce(pg_catalog.octet_length(candidate.from_list), 0) AS name_bytes,
                    CASE WHEN pg_catalog.pg_column_compression(candidate.items) IS NOT NULL
                        THEN 256::bigint * pg_catalog.pg_column_size(candidate.items)
                        -- A larger value may be stored out of line, and counting its elements would read it. An element has at least
                        -- 8 bytes and counts as 100, which is less than 13 times as many.
                        WHEN pg_catalog.pg_column_size(candidate.items) > 2000
                        THEN 13::bigint * pg_catalog.pg_column_size(candidate.items)
                        ELSE greatest(
                            pg_catalog.pg_column_size(candidate.items), 100 * pg_catalog.cardinality(candidate.items))
                    END AS most_bytes
                FROM candidate
            ), room AS MATERIALIZED (
                SELECT count(*) <= \(total)::bigint
                    AND coalesce(sum(estimated.most_bytes + estimated.name_bytes), 0) <= \(bytes)::numeric AS is_enough
                FROM estimated
            ), once AS (
                SELECT DISTINCT ON (estimated.id) estimated.*,
                    \(isPreferred) AS is_preferred
                FROM estimated
                WHERE NOT (SELECT is_enough FROM room)
                ORDER BY estimated.id
            ), queued AS (
                SELECT once.*, sum(once.most_bytes) OVER (
                        PARTITION BY once.ordered_table, once.list ORDER BY once.id ROWS UNBOUNDED PRECEDING
                    ) AS bytes_of_list
                FROM once
            ), bounded AS (
                SELECT queued.*, sum(queued.most_bytes) OVER in_turn AS most_bytes_so_far, row_number() OVER in_turn AS number
                FROM queued
                WINDOW in_turn AS (
                    ORDER BY queued.is_preferred DESC, CASE WHEN queued.is_preferred THEN 0 ELSE queued.bytes_of_list END, queued.id
                    ROWS UNBOUNDED PRECEDING)
            ), measured AS (
                SELECT bounded.*,
                    sum(bounded.name_bytes + CASE
                        WHEN bounded.number > 1 AND bounded.most_bytes_so_far > 64::numeric * \(bytes)::numeric THEN bounded.most_bytes
                        WHEN pg_catalog.pg_column_compression(bounded.items) IS NULL
                        THEN greatest(pg_catalog.pg_column_size(bounded.items), 100 * pg_catalog.cardinality(bounded.items))
                        ELSE greatest(
                            pg_catalog.octet_length(pg_catalog.array_send(bounded.items)),
                            100 * pg_catalog.cardinality(bounded.items))
                    END) OVER (ORDER BY bounded.number ROWS UNBOUNDED PRECEDING) AS bytes_so_far
                FROM bounded
            ), shared AS MATERIALIZED (
                SELECT measured.*, measured.number = 1 OR (
                    measured.number <= \(total)::bigint AND measured.bytes_so_far <= \(bytes)::numeric) AS fits
                FROM measured
            )
            """
    }
}
