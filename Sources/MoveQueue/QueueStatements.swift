import LibPQ
import Ordering

/// Every statement on the queue and its log.
enum QueueStatements {
    /// Lists with pending requests beyond a list, in order, and those that their changes of list lead to; then tries
    /// the lock of each.
    ///
    /// The queue's index is skipped through, one probe for each list. The lists are chosen first and locked then, in
    /// the order of their keys: beside a LIMIT, the lock function might be called for rows that are cut away.
    static func claim(beyond start: ListIdentifier, lists: Int, partners: Int) -> SQL {
        """
        WITH RECURSIVE ready (ordered_table, list, number) AS (
            (SELECT request.ordered_table, request.list, 1
            FROM brocot.move_requests AS request
            WHERE (request.ordered_table, request.list) > (\(start.orderedTable)::text, \(start.list)::text)
            ORDER BY request.ordered_table, request.list LIMIT 1)
            UNION ALL
            SELECT next.ordered_table, next.list, ready.number + 1
            FROM ready
            CROSS JOIN LATERAL (
                SELECT request.ordered_table, request.list
                FROM brocot.move_requests AS request
                WHERE (request.ordered_table, request.list) > (ready.ordered_table, ready.list)
                ORDER BY request.ordered_table, request.list LIMIT 1
            ) AS next
            WHERE ready.number < \(lists)::bigint
        )
        \(tryLocks(ofListsIn: "ready", partners: partners))
        """
    }

    /// The same for given lists.
    static func claim(_ lists: [ListIdentifier], partners: Int) -> SQL {
        """
        WITH ready (ordered_table, list, number) AS (
            SELECT * FROM unnest(\(lists.map(\.orderedTable)), \(lists.map(\.list))) WITH ORDINALITY
        )
        \(tryLocks(ofListsIn: "ready", partners: partners))
        """
    }

    /// Number 0 marks the lists that were added for their changes of list.
    private static func tryLocks(ofListsIn ready: SQL, partners: Int) -> SQL {
        """
        , partner AS (
            SELECT ready.number, change.ordered_table, change.list
            FROM \(ready) AS ready
            CROSS JOIN LATERAL (
                (SELECT request.ordered_table, request.from_list AS list
                FROM brocot.move_requests AS request
                WHERE request.ordered_table = ready.ordered_table AND request.list = ready.list
                    AND request.from_list IS NOT NULL
                ORDER BY request.id LIMIT \(partners)::bigint)
                UNION ALL
                (SELECT request.ordered_table, request.list
                FROM brocot.move_requests AS request
                WHERE request.ordered_table = ready.ordered_table AND request.from_list = ready.list
                ORDER BY request.id LIMIT \(partners)::bigint)
            ) AS change
        ), chosen AS MATERIALIZED (
            SELECT candidate.ordered_table, candidate.list, max(candidate.ready_number) AS ready_number
            FROM (
                SELECT ordered_table, list, number, number AS ready_number FROM \(ready)
                UNION ALL
                SELECT ordered_table, list, number, 0 FROM partner
            ) AS candidate
            GROUP BY candidate.ordered_table, candidate.list
            ORDER BY min(candidate.number)
            LIMIT 256
        ), keyed AS MATERIALIZED (
            SELECT chosen.*, brocot.list_lock_key(chosen.ordered_table, chosen.list) AS key
            FROM chosen
            ORDER BY key
        )
        SELECT keyed.ordered_table, keyed.list, keyed.ready_number, pg_catalog.pg_try_advisory_xact_lock(keyed.key)
        FROM keyed
        """
    }

    /// The earliest requests of locked lists, and the time that is now, in one snapshot.
    ///
    /// At most `limit` for each list as target and as source, and no more than `total` rows and so many bytes in all,
    /// but at least one request: what is left out there is later than all that is returned.
    static func pending(in lists: [ListIdentifier], limit: Int, total: Int, bytes: Int) -> SQL {
        """
        WITH moment AS MATERIALIZED (
            SELECT pg_catalog.clock_timestamp() AS now
        ), wanted AS MATERIALIZED (
            SELECT * FROM unnest(\(lists.map(\.orderedTable)), \(lists.map(\.list))) AS wanted (ordered_table, list)
        ), candidate AS (
            SELECT as_target.* FROM wanted CROSS JOIN LATERAL (
                SELECT request.* FROM brocot.move_requests AS request
                WHERE request.ordered_table = wanted.ordered_table AND request.list = wanted.list
                ORDER BY request.id LIMIT \(limit)::bigint
            ) AS as_target
            UNION ALL
            SELECT as_source.* FROM wanted CROSS JOIN LATERAL (
                SELECT request.* FROM brocot.move_requests AS request
                WHERE request.ordered_table = wanted.ordered_table AND request.from_list = wanted.list
                ORDER BY request.id LIMIT \(limit)::bigint
            ) AS as_source
        ), weighed AS (
            SELECT candidate.*,
                sum(pg_catalog.pg_column_size(candidate.items)) OVER earlier AS bytes,
                row_number() OVER earlier AS number
            FROM candidate
            WINDOW earlier AS (ORDER BY candidate.id ROWS UNBOUNDED PRECEDING)
        )
        SELECT weighed.id, weighed.ordered_table, weighed.list, weighed.items, weighed.placement, weighed.anchor,
            weighed.position, weighed.from_list, moment.now
        FROM weighed CROSS JOIN moment
        WHERE (weighed.bytes <= \(bytes)::bigint AND weighed.number <= \(total)::bigint) OR weighed.number = 1
        """
    }

    /// Moves decided requests from the queue to the log, and counts both sides.
    ///
    /// An id that was logged before, chosen by somebody who may, must not stop the queue: the newer outcome replaces
    /// the older one.
    static func finish(_ decided: DecidedRequests, at time: Timestamp) -> SQL {
        """
        WITH decided AS (
            DELETE FROM brocot.move_requests AS request
            USING unnest(
                \(decided.ids), \(decided.outcomes), \(decided.errorCodes), \(decided.sqlStates), \(decided.errors),
                \(decided.rebalancedRows)
            ) AS decision (id, outcome, error_code, sqlstate, error, rebalanced_rows)
            WHERE request.id = decision.id
            RETURNING request.*, decision.outcome, decision.error_code, decision.sqlstate, decision.error,
                decision.rebalanced_rows
        ), logged AS (
            INSERT INTO brocot.move_log AS log (
                id, ordered_table, list, items, placement, anchor, position, from_list, idempotency_key, requested_at,
                outcome, error_code, sqlstate, error, applied_at, rebalanced_rows)
            SELECT decided.id, decided.ordered_table, decided.list, decided.items, decided.placement, decided.anchor,
                decided.position, decided.from_list, decided.idempotency_key, decided.requested_at, decided.outcome,
                decided.error_code, decided.sqlstate, decided.error, \(time), decided.rebalanced_rows
            FROM decided
            ON CONFLICT (id) DO UPDATE SET
                (ordered_table, list, items, placement, anchor, position, from_list, idempotency_key, requested_at,
                    outcome, error_code, sqlstate, error, applied_at, rebalanced_rows)
                = (excluded.ordered_table, excluded.list, excluded.items, excluded.placement, excluded.anchor,
                    excluded.position, excluded.from_list, excluded.idempotency_key, excluded.requested_at,
                    excluded.outcome, excluded.error_code, excluded.sqlstate, excluded.error, excluded.applied_at,
                    excluded.rebalanced_rows)
            RETURNING 1
        )
        SELECT (SELECT count(*) FROM decided), (SELECT count(*) FROM logged)
        """
    }

    /// Whether anything is pending.
    static let isAnythingPending: SQL = "SELECT EXISTS (SELECT FROM brocot.move_requests)"

    /// The list of some pending request, so that workers begin at different places. `fraction` is from 0 to 1.
    static func randomList(_ fraction: Double) -> SQL {
        """
        SELECT request.ordered_table, request.list
        FROM brocot.move_requests AS request
        WHERE request.id >= (
            SELECT min(id) + ((max(id) - min(id)) * (\(String(fraction))::text)::numeric)::bigint
            FROM brocot.move_requests)
        ORDER BY request.id LIMIT 1
        """
    }
}

/// Decided requests, one element for each in every array.
struct DecidedRequests {
    var ids: [Int64] = []
    var outcomes: [String] = []
    var errorCodes: [String?] = []
    var sqlStates: [String?] = []
    var errors: [String?] = []
    var rebalancedRows: [Int] = []

    init(_ requests: [(PendingRequest, MoveOutcome)]) {
        for (request, outcome) in requests {
            ids.append(request.id)
            switch outcome {
            case .applied(let rebalancedRows): append("applied", nil, rebalancedRows)
            case .rejected(let rejection): append("rejected", rejection, 0)
            }
        }
    }

    private mutating func append(_ outcome: String, _ rejection: Rejection?, _ rows: Int) {
        outcomes.append(outcome)
        errorCodes.append(rejection?.code.rawValue)
        sqlStates.append(rejection?.sqlState)
        errors.append(rejection?.message)
        rebalancedRows.append(rows)
    }
}
