import LibPQ
import Ordering

/// Every statement on the queue and its log.
enum QueueStatements {
    /// Lists with pending requests from a list on, or beyond it, in order, and those that their changes of list lead to; then tries
    /// the lock of each, unless the list is held.
    ///
    /// The first entries of the queue's index are read in one go, which finds lists with few requests; from there on it
    /// is skipped through, one probe for each list. What is below the floor is stepped over within the index. The lists
    /// are chosen first and locked then, at most `locks` of them and in the order of their keys: beside a LIMIT, the
    /// lock function might be called for rows that are cut away.
    static func claim(
        from start: ListIdentifier, including: Bool, lists: Int, partners: Int, locks: Int, _ progress: ReadProgress
    ) -> SQL {
        let isNext: SQL = including ? ">=" : ">"
        return """
            WITH RECURSIVE \(remembered(progress)), run AS MATERIALIZED (
                SELECT first.ordered_table, first.list,
                    row_number() OVER (ORDER BY first.ordered_table, first.list) AS number
                FROM (
                    SELECT request.ordered_table, request.list
                    FROM brocot.move_requests AS request
                    WHERE (request.ordered_table, request.list)
                            \(isNext) (\(start.orderedTable)::text, \(start.list)::text)
                        AND request.id > \(progress.floor)
                    ORDER BY request.ordered_table, request.list LIMIT \(lists)::bigint
                ) AS first
                GROUP BY first.ordered_table, first.list
            ), recent (ordered_table, list, number) AS (
                SELECT run.ordered_table, run.list, run.number FROM run
                UNION ALL
                SELECT next.ordered_table, next.list, recent.number + 1
                FROM recent
                CROSS JOIN LATERAL (
                    SELECT request.ordered_table, request.list
                    FROM brocot.move_requests AS request
                    WHERE (request.ordered_table, request.list) > (recent.ordered_table, recent.list)
                        AND request.id > \(progress.floor)
                    ORDER BY request.ordered_table, request.list LIMIT 1
                ) AS next
                WHERE recent.number >= (SELECT count(*) FROM run) AND recent.number < \(lists)::bigint
            ), ready AS MATERIALIZED (\(
                progress.remaining.isEmpty
                    ? "SELECT * FROM recent" : recentAndRemembered(isNext, start, lists: lists)))
            \(tryLocks(partners: partners, locks: locks, progress))
            """
    }

    /// With the lists that have requests below the floor, each in its place.
    private static func recentAndRemembered(_ isNext: SQL, _ start: ListIdentifier, lists: Int) -> SQL {
        """
        SELECT with_requests.ordered_table, with_requests.list, row_number() OVER in_order AS number
        FROM (
            SELECT recent.ordered_table, recent.list FROM recent
            UNION
            SELECT remembered.ordered_table, remembered.list
            FROM remembered CROSS JOIN LATERAL (\(earliest("request.id", by: "list", of: "remembered"))) AS first
            WHERE (remembered.ordered_table, remembered.list)
                \(isNext) (\(start.orderedTable)::text, \(start.list)::text)
        ) AS with_requests
        WINDOW in_order AS (ORDER BY with_requests.ordered_table, with_requests.list)
        ORDER BY number LIMIT \(lists)::bigint
        """
    }

    /// The same for given lists.
    static func claim(_ lists: [ListIdentifier], partners: Int, locks: Int, _ progress: ReadProgress) -> SQL {
        """
        WITH \(remembered(progress)), ready (ordered_table, list, number) AS (
            SELECT * FROM unnest(\(lists.map(\.orderedTable)), \(lists.map(\.list))) WITH ORDINALITY
        )
        \(tryLocks(partners: partners, locks: locks, progress))
        """
    }

    /// The lists with requests below the floor.
    private static func remembered(_ progress: ReadProgress) -> SQL {
        let lists = progress.remaining.keys
        return """
            remembered AS (
                SELECT * FROM unnest(
                    \(lists.map(\.orderedTable)), \(lists.map(\.list)), \(Array(progress.remaining.values))
                ) AS remembered (ordered_table, list, floor)
            )
            """
    }

    /// For LATERAL beside a relation with the columns `ordered_table`, `list` and `floor`: the earliest requests of each
    /// list beyond its floor, as target (`list`) or as source (`from_list`).
    ///
    /// It is written so that no other index than the one by that column serves it. With equal lists and an order by id
    /// alone, that of the primary key would do as well, and costs the same as long as the queue is empty, which is when
    /// plans may be made.
    private static func earliest(
        _ columns: SQL, by role: SQL, of lists: SQL, where condition: SQL = "true", limit: Int = 1
    ) -> SQL {
        """
        SELECT \(columns)
        FROM brocot.move_requests AS request
        WHERE request.ordered_table = \(lists).ordered_table
            AND (request.\(role), request.id) > (\(lists).list, \(lists).floor) AND request.\(role) <= \(lists).list
            AND \(condition)
        ORDER BY request.\(role), request.id LIMIT \(limit)::bigint
        """
    }

    /// Number 0 marks the lists that were added for their changes of list.
    private static func tryLocks(partners: Int, locks: Int, _ progress: ReadProgress) -> SQL {
        """
        \(partners > 0 ? withPartners(partners, progress) : ", candidate AS (SELECT *, number AS ready_number FROM ready)")
        , chosen AS MATERIALIZED (
            SELECT candidate.ordered_table, candidate.list, candidate.ready_number
            FROM candidate
            ORDER BY candidate.number
            LIMIT \(locks)::bigint
        ), keyed AS MATERIALIZED (
            SELECT chosen.*, brocot.list_lock_key(chosen.ordered_table, chosen.list) AS key,
                EXISTS (
                    SELECT FROM brocot.held_lists AS held
                    WHERE held.ordered_table = chosen.ordered_table AND held.list = chosen.list) AS is_held
            FROM chosen
            ORDER BY key
        )
        SELECT keyed.ordered_table, keyed.list, keyed.ready_number, keyed.is_held,
            CASE WHEN keyed.is_held THEN false ELSE pg_catalog.pg_try_advisory_xact_lock(keyed.key) END
        FROM keyed
        """
    }

    /// The ready lists, and those that their earliest changes of list lead to or come from, once each.
    private static func withPartners(_ partners: Int, _ progress: ReadProgress) -> SQL {
        """
        , floored AS MATERIALIZED (
            SELECT ready.*, coalesce(remembered.floor, \(progress.floor)) AS floor
            FROM ready LEFT JOIN remembered
                ON remembered.ordered_table = ready.ordered_table AND remembered.list = ready.list
        ), partner AS (
            SELECT ready.number, change.ordered_table, change.list
            FROM floored AS ready
            CROSS JOIN LATERAL (
                (\(earliest(
                    "request.ordered_table, request.from_list AS list", by: "list", of: "ready",
                    where: "request.from_list IS NOT NULL", limit: partners)))
                UNION ALL
                (\(earliest("request.ordered_table, request.list", by: "from_list", of: "ready", limit: partners)))
            ) AS change
        ), candidate AS (
            SELECT either.ordered_table, either.list, max(either.ready_number) AS ready_number,
                min(either.number) AS number
            FROM (
                SELECT ordered_table, list, number, number AS ready_number FROM ready
                UNION ALL
                SELECT ordered_table, list, number, 0 FROM partner
            ) AS either
            GROUP BY either.ordered_table, either.list
        )
        """
    }

    /// The earliest requests of locked lists, and the time that is now, in one snapshot.
    ///
    /// At most `limit` for each list as target and as source, and no more than `total` rows and so many bytes in all
    /// (as stored, and at least 100 for each item), but at least one request: what is left out there is later than all
    /// that is returned.
    static func pending(
        in lists: [ListIdentifier], limit: Int, total: Int, bytes: Int, _ progress: ReadProgress
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
        ), weighed AS (
            SELECT candidate.*,
                sum(greatest(
                    pg_catalog.pg_column_size(candidate.items), 100 * pg_catalog.cardinality(candidate.items)
                )) OVER earlier AS bytes,
                row_number() OVER earlier AS number
            FROM candidate
            WINDOW earlier AS (ORDER BY candidate.id ROWS UNBOUNDED PRECEDING)
        )
        SELECT weighed.id, weighed.ordered_table, weighed.list, weighed.items, weighed.placement, weighed.anchor,
            weighed.position, weighed.from_list, moment.now, weighed.location::text
        FROM weighed CROSS JOIN moment
        WHERE (weighed.bytes <= \(bytes)::bigint AND weighed.number <= \(total)::bigint) OR weighed.number = 1
        """
    }

    /// Moves decided requests from the queue to the log, and counts both sides.
    ///
    /// An id that was logged before, chosen by somebody who may, must not stop the queue: the newer outcome replaces
    /// the older one.
    ///
    /// The rows are deleted where they were read, and only then joined with the decisions, both by ``finishSettings``:
    /// vacuum often finds the queue empty, and a planner that takes it for empty would rather read all of it each time.
    /// A row that somebody changed since stands elsewhere, and so is missed in the counts.
    static func finish(_ decided: DecidedRequests, at time: Timestamp) -> SQL {
        """
        WITH decided AS (
            DELETE FROM brocot.move_requests AS request
            WHERE request.ctid = ANY (\(decided.locations)::text[]::tid[])
            RETURNING request.*
        ), logged AS (
            INSERT INTO brocot.move_log AS log (
                id, ordered_table, list, items, placement, anchor, position, from_list, idempotency_key, requested_at,
                outcome, error_code, sqlstate, error, applied_at, rebalanced_rows)
            SELECT decided.id, decided.ordered_table, decided.list, decided.items, decided.placement, decided.anchor,
                decided.position, decided.from_list, decided.idempotency_key, decided.requested_at, decision.outcome,
                decision.error_code, decision.sqlstate, decision.error, \(time), decision.rebalanced_rows
            FROM decided
            JOIN unnest(
                \(decided.ids), \(decided.outcomes), \(decided.errorCodes), \(decided.sqlStates), \(decided.errors),
                \(decided.rebalancedRows)
            ) AS decision (id, outcome, error_code, sqlstate, error, rebalanced_rows) ON decision.id = decided.id
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

    static let finishSettings = """
        SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_nestloop = off;
        SET LOCAL enable_hashjoin = on
        """

    /// Makes lists wait for a person.
    static func hold(_ holds: [HeldList], at time: Timestamp) -> SQL {
        """
        INSERT INTO brocot.held_lists AS held (ordered_table, list, request_id, sqlstate, error, held_at)
        SELECT refused.*, \(time)
        FROM unnest(
            \(holds.map(\.list.orderedTable)), \(holds.map(\.list.list)), \(holds.map(\.request)),
            \(holds.map(\.error.sqlState?.rawValue)), \(holds.map(\.error.message))
        ) AS refused (ordered_table, list, request_id, sqlstate, error)
        ON CONFLICT (ordered_table, list) DO UPDATE
        SET (request_id, sqlstate, error, held_at)
            = (excluded.request_id, excluded.sqlstate, excluded.error, excluded.held_at)
        """
    }

    /// How a table wants its poisonous requests treated; no row or NULL: as the daemon is told.
    static func poisonPolicy(of table: String) -> SQL {
        "SELECT registered.on_poison FROM brocot.ordered_tables AS registered WHERE registered.name = \(table)"
    }

    /// The list of some pending request, so that workers begin at different places. `fraction` is from 0 to 1.
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
            SELECT first + ((last - first) * (\(String(fraction))::text)::numeric)::bigint FROM extent)
        ORDER BY request.id LIMIT 1
        """
    }

    /// Whether anything is pending, and what ``ReadProgress/observe(_:)`` needs to know.
    static func look(_ progress: ReadProgress) -> SQL {
        """
        WITH \(remembered(progress))
        SELECT
            EXISTS (
                SELECT FROM (
                    SELECT FROM brocot.move_requests AS request
                    WHERE request.id > \(progress.floor)
                    ORDER BY request.id LIMIT 1
                ) AS first)
            OR EXISTS (
                SELECT FROM remembered
                CROSS JOIN LATERAL (\(earliest("request.id", by: "list", of: "remembered"))) AS first),
            (SELECT last_value FROM brocot.move_requests_id_seq),
            ARRAY(
                SELECT writer.virtualtransaction
                FROM pg_catalog.pg_locks AS writer
                WHERE writer.locktype = 'relation' AND writer.mode = 'RowExclusiveLock'
                    AND writer.relation = 'brocot.move_requests'::regclass
                    AND writer.database = (
                        SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()))
        """
    }

    /// Reads the queue from the floor on, up to `last` or so many requests: up to where it was read, and the first
    /// pending request of each list in it and of each remembered one.
    static func readOn(to last: Int64, limit: Int, _ progress: ReadProgress) -> SQL {
        """
        WITH \(remembered(progress)), recent AS MATERIALIZED (
            SELECT request.id, request.ordered_table, request.list, request.from_list
            FROM brocot.move_requests AS request
            WHERE request.id > \(progress.floor)
            ORDER BY request.id LIMIT \(limit)::bigint
        ), extent AS (
            SELECT CASE WHEN count(*) < \(limit)::bigint THEN \(last) ELSE least(max(recent.id), \(last)) END AS read_to
            FROM recent
        ), involved AS (
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
        )
        SELECT extent.read_to, involved.ordered_table, involved.list, min(involved.id)
        FROM extent LEFT JOIN involved ON true
        GROUP BY extent.read_to, involved.ordered_table, involved.list
        """
    }
}

/// Decided requests, one element for each in every array.
struct DecidedRequests {
    var ids: [Int64] = []
    var locations: [String] = []
    var outcomes: [String] = []
    var errorCodes: [String?] = []
    var sqlStates: [String?] = []
    var errors: [String?] = []
    var rebalancedRows: [Int] = []

    init(_ requests: [(PendingRequest, MoveOutcome)]) {
        for (request, outcome) in requests {
            ids.append(request.id)
            locations.append(request.location)
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
