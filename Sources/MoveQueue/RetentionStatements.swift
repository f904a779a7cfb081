import LibPQ

/// Statements that delete old rows of the log, in small steps.
package enum RetentionStatements {
    /// Deletes what is older than so many seconds among the next rows of the log in the order of their ids, with the
    /// idempotency keys of those requests, unless somebody else does.
    ///
    /// Ids rise with age all but exactly, and going by them, a step doesn't read again what the steps before it deleted.
    /// Where a step found only younger rows, what follows is mostly younger too.
    ///
    /// - Returns: one row of whether the lock was got, how many rows were read and how many deleted, and the last id
    ///   read; NULL if none.
    package static func prune(after id: Int64, olderThan seconds: Int64, limit: Int) -> SQL {
        """
        WITH turn AS MATERIALIZED (
            SELECT pg_catalog.pg_try_advisory_xact_lock(
                pg_catalog.hashtextextended('brocot.move_log retention', 0)) AS is_mine
        ), next AS MATERIALIZED (
            SELECT log.id, log.applied_at
            FROM brocot.move_log AS log
            WHERE log.id > \(id) AND (SELECT is_mine FROM turn)
            ORDER BY log.id LIMIT \(limit)::bigint
        ), pruned AS (
            DELETE FROM brocot.move_log AS log
            USING next
            WHERE log.id = next.id AND next.applied_at < pg_catalog.now() - pg_catalog.make_interval(secs => \(seconds))
            RETURNING log.id, log.idempotency_key
        ), freed AS (
            DELETE FROM brocot.idempotency_keys AS used
            USING pruned
            WHERE used.key = pruned.idempotency_key AND used.request_id = pruned.id
        )
        SELECT turn.is_mine, (SELECT count(*) FROM next), (SELECT count(*) FROM pruned), (SELECT max(id) FROM next)
        FROM turn
        """
    }
}
