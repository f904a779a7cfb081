import LibPQ
import Ordering

/// Statements that end a batch.
extension QueueStatements {
    /// The columns of ``finish(_:at:replacing:)``.
    enum FinishColumn: Int {
        case deleted, logged
    }

    /// Moves decided requests from the queue to the log, and counts both sides.
    ///
    /// A role may choose an id that was logged before. This must not stop the queue, so with `replacing` the newer outcome replaces
    /// the older one. Each row then takes twice as long, so only batches that are applied in parts do this.
    ///
    /// The rows are deleted by the locations at which they were read, and only then joined with the decisions.
    /// ``prepareToFinish(statementTimeout:)`` makes sure of both: vacuum often finds the queue empty, and then the planner would
    /// prefer to read all of it. A row that another session has changed has another location, so the counts show that it is
    /// missing.
    static func finish(_ decided: DecisionArrays, at time: Timestamp, replacing: Bool) -> SQL {
        """
        WITH decided AS (
            DELETE FROM brocot.move_requests AS request
            WHERE request.ctid = ANY (\(decided.locations)::text[]::tid[])
            RETURNING request.*
        ), logged AS (
            INSERT INTO brocot.move_log AS log (
                id, ordered_table, list, items, placement, anchor, position, from_list, missing, idempotency_key,
                requested_at, outcome, error_code, sqlstate, error, applied_at, rebalanced_rows, direct, xid)
            SELECT decided.id, decided.ordered_table, decided.list, decided.items, decided.placement, decided.anchor,
                decided.position, decided.from_list, decided.missing, decided.idempotency_key, decided.requested_at,
                decision.outcome, decision.error_code, decision.sqlstate, decision.error, \(time),
                decision.rebalanced_rows, false, pg_catalog.pg_current_xact_id()
            FROM decided
            JOIN unnest(
                \(decided.ids), \(decided.outcomes), \(decided.errorCodes), \(decided.sqlStates), \(decided.errors),
                \(decided.rebalancedRows)
            ) AS decision (id, outcome, error_code, sqlstate, error, rebalanced_rows) ON decision.id = decided.id
            \(replacing ? newerOutcome : "")
            RETURNING 1
        )
        SELECT (SELECT count(*) FROM decided), (SELECT count(*) FROM logged)
        """
    }

    private static let newerOutcome: SQL = """
        ON CONFLICT (id) DO UPDATE SET
            (ordered_table, list, items, placement, anchor, position, from_list, missing, idempotency_key,
                requested_at, outcome, error_code, sqlstate, error, applied_at, rebalanced_rows, direct, xid)
            = (excluded.ordered_table, excluded.list, excluded.items, excluded.placement, excluded.anchor,
                excluded.position, excluded.from_list, excluded.missing, excluded.idempotency_key,
                excluded.requested_at, excluded.outcome, excluded.error_code, excluded.sqlstate, excluded.error,
                excluded.applied_at, excluded.rebalanced_rows, excluded.direct, excluded.xid)
        """

    /// Prepares the transaction for ``finish(_:at:replacing:)`` and for COMMIT.
    ///
    /// - The limit for statements does not apply to COMMIT. So constraint triggers of users that are deferred fire here, and
    ///   cursors WITH HOLD, whose queries would run during COMMIT, are closed.
    /// - The settings also replace the values that a user's trigger may have set until the end of the transaction.
    static func prepareToFinish(statementTimeout: String) -> String {
        """
        SET LOCAL statement_timeout = '\(statementTimeout)'; SET CONSTRAINTS ALL IMMEDIATE; CLOSE ALL;
        SET LOCAL statement_timeout = '\(statementTimeout)'; SET LOCAL row_security = off;
        SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_nestloop = off;
        SET LOCAL enable_hashjoin = on
        """
    }

    /// Makes lists wait for a person.
    static func hold(_ holds: [HeldList], at time: Timestamp) -> SQL {
        """
        INSERT INTO brocot.held_lists AS held (ordered_table, list, request_id, sqlstate, error, held_at)
        SELECT refused.*, \(time)
        FROM unnest(
            \(holds.map(\.list.orderedTable)), \(holds.map(\.list.key)), \(holds.map(\.request)),
            \(holds.map(\.error.sqlState)), \(holds.map(\.error.message))
        ) AS refused (ordered_table, list, request_id, sqlstate, error)
        ON CONFLICT (ordered_table, list) DO UPDATE
        SET (request_id, sqlstate, error, held_at)
            = (excluded.request_id, excluded.sqlstate, excluded.error, excluded.held_at)
        """
    }
}
