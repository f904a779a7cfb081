import LibPQ

/// Statements that read the queue without deciding anything.
extension QueueStatements {
    /// The list of an arbitrary pending request, so that workers begin at different lists. `fraction` is from 0 to 1.
    static func randomList(_ fraction: Double, _ progress: ReadProgress) -> SQL {
        """
        WITH extent AS MATERIALIZED (
            SELECT
                (SELECT id FROM brocot.move_requests WHERE id > \(progress.floor) ORDER BY id LIMIT 1) AS first,
                (SELECT id FROM brocot.move_requests WHERE id > \(progress.floor) ORDER BY id DESC LIMIT 1) AS last
        )
        SELECT request.ordered_table, request.list
        FROM brocot.move_requests AS request
        WHERE request.id >= (
            SELECT (first::numeric + (last::numeric - first::numeric) * (\(String(fraction))::text)::numeric)::bigint FROM extent)
        ORDER BY request.id LIMIT 1
        """
    }

    /// The columns of ``poll(_:)``. ``QueueState`` reads them.
    enum PollColumn: Int {
        case isPending, lastID, writers, newestTransaction, insertsNotify
    }

    /// Whether a request is pending, the values for ``ReadProgress/observe(_:)``, and whether INSERTs notify. The locks are read
    /// after the last id, because they must be at least as new as that id.
    ///
    /// The statement runs in a transaction of its own, with ``QueueConfiguration/settings``: if a policy may hide requests, the server
    /// refuses it. With other settings, it would report that some are pending, and the workers that read them would get the error.
    static func poll(_ progress: ReadProgress) -> SQL {
        .with(
            [remembered(progress)],
            """
            SELECT
                EXISTS (
                    SELECT FROM (
                        SELECT FROM brocot.move_requests AS request
                        WHERE request.id OPERATOR(pg_catalog.>) \(progress.floor)
                        ORDER BY request.id LIMIT 1
                    ) AS first)
                OR EXISTS (
                    SELECT FROM remembered
                    CROSS JOIN LATERAL (\(earliest("request.id", by: "list", of: "remembered"))) AS first)
                OR pg_catalog.row_security_active('brocot.move_requests'::pg_catalog.regclass),
                ids.last_value,
                ARRAY(
                    SELECT pg_catalog.concat_ws(
                        ' ', held.virtualtransaction,
                        pg_catalog.string_agg(held.transactionid::pg_catalog.text, ' ') FILTER (
                            WHERE held.locktype OPERATOR(pg_catalog.=) 'transactionid'
                                AND held.mode OPERATOR(pg_catalog.=) 'ExclusiveLock'))
                    FROM pg_catalog.pg_locks AS held
                    WHERE ids.last_value OPERATOR(pg_catalog.>) 0
                    GROUP BY held.virtualtransaction
                    HAVING pg_catalog.bool_or(
                        held.locktype OPERATOR(pg_catalog.=) 'relation'
                        AND held.mode OPERATOR(pg_catalog.=) 'RowExclusiveLock'
                        AND held.relation OPERATOR(pg_catalog.=) 'brocot.move_requests'::pg_catalog.regclass
                        AND held.database OPERATOR(pg_catalog.=) (
                            SELECT oid FROM pg_catalog.pg_database
                            WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()))),
                pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::pg_catalog.text::bigint,
                (SELECT flag.is_called FROM brocot.sleepers AS flag)
            FROM (
                -- If the sequence was never used, last_value is the next number. If sessions take ids in advance (CACHE), lower
                -- ids may still appear.
                SELECT CASE WHEN drawn.is_called AND sequence.seqcache OPERATOR(pg_catalog.=) 1 THEN drawn.last_value ELSE 0 END
                    AS last_value
                FROM brocot.move_requests_id_seq AS drawn
                JOIN pg_catalog.pg_sequence AS sequence ON sequence.seqrelid OPERATOR(pg_catalog.=) drawn.tableoid
            ) AS ids
            """)
    }

    /// The last id that was handed out. It tells whether requests are arriving, at little cost.
    static let lastID: SQL = "SELECT last_value FROM brocot.move_requests_id_seq"

    /// Whether these transactions are still open. If so, they were open at every earlier statement.
    static func areOpen(_ transactions: Set<Int64>) -> SQL {
        """
        SELECT NOT EXISTS (
            SELECT FROM pg_catalog.unnest(\(Array(transactions))) AS transaction (id)
            WHERE pg_catalog.pg_visible_in_snapshot(transaction.id::text::xid8, pg_catalog.pg_current_snapshot()))
        """
    }

    /// The columns of ``readOn(to:limit:_:)``. If no request was found, the table and the list are NULL.
    enum ReadOnColumn: Int {
        case readTo, orderedTable, list, firstPending
    }

    /// Reads the queue from the floor up to `last`, but at most `limit` requests. Returns the id up to which it has read, the
    /// first pending request of each list in between, and the first pending request of each remembered list.
    static func readOn(to last: Int64, limit: Int, _ progress: ReadProgress) -> SQL {
        let recent = CommonTableExpression(
            "recent", as: .materialized,
            """
            SELECT request.id, request.ordered_table, request.list, request.from_list
            FROM brocot.move_requests AS request
            WHERE request.id > \(progress.floor)
            ORDER BY request.id LIMIT \(limit)::bigint
            """)
        let extent = CommonTableExpression(
            "extent",
            """
            SELECT CASE WHEN count(*) < \(limit)::bigint THEN \(last) ELSE least(max(recent.id), \(last)) END AS read_to
            FROM recent
            """)
        let involved = CommonTableExpression(
            "involved",
            """
            SELECT recent.ordered_table, recent.list, recent.id FROM recent
            UNION ALL
            SELECT recent.ordered_table, recent.from_list, recent.id FROM recent WHERE recent.from_list IS NOT NULL
            UNION ALL
            SELECT remembered.ordered_table, remembered.list, oldest.id
            FROM remembered
            CROSS JOIN LATERAL (
                (\(earliest("request.id", by: "list", of: "remembered")))
                UNION ALL
                (\(earliest("request.id", by: "from_list", of: "remembered")))
            ) AS oldest
            """)
        return .with(
            [remembered(progress), recent, extent, involved],
            """
            SELECT extent.read_to, involved.ordered_table, involved.list, min(involved.id)
            FROM extent LEFT JOIN involved ON true
            GROUP BY extent.read_to, involved.ordered_table, involved.list
            """)
    }
}
