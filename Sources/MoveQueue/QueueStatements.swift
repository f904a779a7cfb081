import LibPQ
import Ordering

/// The statements on the queue and its log.
enum QueueStatements {
    /// The server's `deadlock_timeout` in milliseconds. The view `pg_settings` would need more memory than the least `work_mem`.
    static let deadlockTimeout: SQL = """
        SELECT (pg_catalog.date_part(
            'epoch', pg_catalog.current_setting('deadlock_timeout')::pg_catalog.interval
        ) OPERATOR(pg_catalog.*) 1000::pg_catalog.float8)::pg_catalog.int8
        """

    /// How many of these requests are in the queue as they were read. A row that was changed has another location.
    static func unchangedCount(of requests: [PendingRequest]) -> SQL {
        """
        SELECT count(*) FROM brocot.move_requests
        WHERE id = ANY (\(requests.map(\.id))) AND ctid = ANY (\(requests.map(\.location))::text[]::tid[])
        """
    }

    /// The table's setting for poison messages. No row or NULL means that the daemon's setting applies.
    static func poisonPolicy(of table: String) -> SQL {
        "SELECT registered.on_poison FROM brocot.ordered_tables AS registered WHERE registered.name = \(table)"
    }

    /// The lists with requests below the floor. They compare as the queue's columns do, whatever the database's collation is.
    static func remembered(_ progress: ReadProgress) -> CommonTableExpression {
        let lists = progress.remembered.keys
        return CommonTableExpression(
            "remembered",
            """
            SELECT known.ordered_table COLLATE pg_catalog."C" AS ordered_table, known.list COLLATE pg_catalog."C" AS list, known.floor
            FROM unnest(
                \(lists.map(\.orderedTable)), \(lists.map(\.key)), \(Array(progress.remembered.values))
            ) AS known (ordered_table, list, floor)
            """)
    }

    /// A query for LATERAL after a relation with the columns `ordered_table`, `list` and `floor`: the earliest requests of each
    /// list beyond its floor, as target (`list`) or as source (`from_list`).
    ///
    /// The query is written so that only the index on that column serves it. With a comparison for equality and an order by id
    /// alone, the primary key would serve too. It has the same cost while the queue is empty, and plans may be made at that time.
    static func earliest(
        _ columns: SQL, by column: SQL, of lists: SQL, where condition: SQL = "true", limit: Int = 1
    ) -> SQL {
        """
        SELECT \(columns)
        FROM brocot.move_requests AS request
        WHERE request.ordered_table OPERATOR(pg_catalog.=) \(lists).ordered_table
            AND (request.\(column), request.id) OPERATOR(pg_catalog.>) (\(lists).list, \(lists).floor)
            AND request.\(column) OPERATOR(pg_catalog.<=) \(lists).list
            AND \(condition)
        ORDER BY request.\(column), request.id LIMIT \(limit)::bigint
        """
    }
}
