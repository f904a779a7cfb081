import LibPQ
import Ordering

/// Statements that choose lists and lock them.
extension QueueStatements {
    /// Finds lists with pending requests from a place on, in the order of a round, and the other lists of their changes of list.
    /// Then it tries to take the lock of each list, unless the list is held. `postponed` lists are left out.
    ///
    /// At most `locks` lists are chosen first, and locked afterwards in the order of their keys. In one step with LIMIT, the
    /// lock function might be called for rows that LIMIT removes.
    static func claim(
        from place: Place, lists: Int, readingAhead: Int, partners: Int, locks: Int,
        postponed: [ListIdentifier] = [], _ progress: ReadProgress
    ) -> SQL {
        let without = Postponement(isEmpty: postponed.isEmpty)
        let skipped = skip(from: place, lists: lists, readingAhead: readingAhead, without, progress)
        let found: SQL = place.isBeginning ? "\(onlyFew(lists, progress)), \(skipped)" : skipped
        let ready: SQL =
            progress.remaining.isEmpty && postponed.isEmpty
            ? "SELECT recent.ordered_table, recent.list, recent.number FROM recent"
            : numbered(place, lists: lists, without, progress)
        return """
            WITH RECURSIVE \(remembered(progress)), waiting_table AS MATERIALIZED (
                SELECT registered.name FROM brocot.ordered_tables AS registered WHERE \(isWaiting("registered"))
            ), \(without.relation(postponed))\(found),
            ready AS MATERIALIZED (\(ready))
            \(tryLocks(partners: partners, locks: locks, without, progress))
            """
    }

    /// Leaves lists out of a search by a look-up in a hashed subplan. The cost of the look-up does not depend on the number of lists.
    private struct Postponement {
        /// Whether no list is left out; then the statement does not contain the condition.
        let isEmpty: Bool

        func relation(_ lists: [ListIdentifier]) -> SQL {
            guard !isEmpty else { return "" }
            return """
                postponed AS MATERIALIZED (
                    SELECT * FROM unnest(\(lists.map(\.orderedTable)), \(lists.map(\.list))) AS postponed (ordered_table, list)
                ),
                """
        }

        func includes(_ row: SQL) -> SQL {
            isEmpty
                ? "false"
                : "((\(row).ordered_table, \(row).list) IN (SELECT postponed.ordered_table, postponed.list FROM postponed))"
        }
    }

    /// The first pending requests of all lists, and whether there are fewer than `limit`. If so, these requests give all lists,
    /// and the search need not step over deleted requests of other lists.
    private static func onlyFew(_ limit: Int, _ progress: ReadProgress) -> SQL {
        """
        oldest AS MATERIALIZED (
            SELECT request.ordered_table, request.list
            FROM brocot.move_requests AS request
            WHERE request.id > \(progress.floor)
            ORDER BY request.id LIMIT \(limit)::bigint
        ), few AS MATERIALIZED (
            SELECT count(*) < \(limit)::bigint AS are_all FROM oldest
        )
        """
    }

    /// The lists with requests beyond the floor, in descending order. At the beginning of a round this is skipped if only few
    /// requests are pending.
    ///
    /// The last `readingAhead` entries of the queue's index are read in one scan, which finds lists with one request each. Then
    /// the statement skips through the index in descending order, with one probe for each list. So it enters each list at its
    /// newest request, after the list's deleted requests, and steps over these only if the list has no pending request. Of a
    /// table whose lists all wait, only the first list is found.
    ///
    /// `number` counts all lists, and `fresh` the lists that are not postponed.
    private static func skip(
        from place: Place, lists: Int, readingAhead: Int, _ without: Postponement, _ progress: ReadProgress
    ) -> SQL {
        let areMore: SQL = place.isBeginning ? "NOT (SELECT are_all FROM few)" : "true"
        let few: SQL = """
            SELECT oldest.ordered_table, oldest.list FROM oldest WHERE (SELECT are_all FROM few)
            UNION ALL
            """
        return """
            run AS MATERIALIZED (
                SELECT last.ordered_table, last.list, row_number() OVER in_order AS number,
                    count(*) FILTER (WHERE NOT \(without.includes("last"))) OVER in_order AS fresh
                FROM (
                    \(place.isBeginning ? few : "")
                    (SELECT request.ordered_table, request.list
                    FROM brocot.move_requests AS request
                    WHERE \(areMore) AND \(isDue("request", from: place)) AND request.id > \(progress.floor)
                    ORDER BY request.ordered_table DESC, request.list DESC LIMIT \(readingAhead)::bigint)
                ) AS last
                GROUP BY last.ordered_table, last.list
                WINDOW in_order AS (ORDER BY last.ordered_table DESC, last.list DESC)
            ), recent (ordered_table, list, number, fresh) AS (
                SELECT run.ordered_table, run.list, run.number, run.fresh FROM run
                UNION ALL
                SELECT next.ordered_table, next.list, recent.number + 1,
                    recent.fresh + (NOT \(without.includes("next")))::integer
                FROM recent
                CROSS JOIN LATERAL (
                    SELECT request.ordered_table, request.list
                    FROM brocot.move_requests AS request
                    WHERE (request.ordered_table, request.list) < (recent.ordered_table, CASE
                            WHEN recent.ordered_table IN (SELECT waiting_table.name FROM waiting_table) THEN ''
                            ELSE recent.list
                        END)
                        AND request.id > \(progress.floor)
                    ORDER BY request.ordered_table DESC, request.list DESC LIMIT 1
                ) AS next
                WHERE \(areMore) AND recent.number >= (SELECT count(*) FROM run) AND recent.fresh < \(lists)::bigint
            )
            """
    }

    /// The lists without the postponed ones, and with the lists that have requests below the floor, in their order.
    private static func numbered(
        _ place: Place, lists: Int, _ without: Postponement, _ progress: ReadProgress
    ) -> SQL {
        let oldLists: SQL = """
            UNION
            SELECT remembered.ordered_table, remembered.list
            FROM remembered CROSS JOIN LATERAL (\(earliest("request.id", by: "list", of: "remembered"))) AS first
            WHERE \(isDue("remembered", from: place))
            """
        return """
            SELECT with_requests.ordered_table, with_requests.list, row_number() OVER in_order AS number
            FROM (
                SELECT recent.ordered_table, recent.list FROM recent
                \(progress.remaining.isEmpty ? "" : oldLists)
            ) AS with_requests
            WHERE NOT \(without.includes("with_requests"))
            WINDOW in_order AS (ORDER BY with_requests.ordered_table DESC, with_requests.list DESC)
            ORDER BY number LIMIT \(lists)::bigint
            """
    }

    /// Whether all lists of a registered table wait, because `brocot attach` still fills the table or a person has paused it.
    private static func isWaiting(_ table: SQL) -> SQL {
        "(\(table).being_filled OR \(table).paused_at IS NOT NULL)"
    }

    /// The condition that the list of a row comes later in the round.
    private static func isDue(_ row: SQL, from place: Place) -> SQL {
        switch place {
        case .beginning: "true"
        case .at(let list): "(\(row).ordered_table, \(row).list) <= (\(list.orderedTable)::text, \(list.list)::text)"
        case .behind(let list): "(\(row).ordered_table, \(row).list) < (\(list.orderedTable)::text, \(list.list)::text)"
        }
    }

    /// How many of the oldest requests are read for each list that is wanted.
    private static let oldestRequestsPerList = 4

    /// Tries to take the locks of the lists of the oldest requests, as target and as source. `postponed` lists are left out.
    static func claimOldest(
        lists: Int, partners: Int, locks: Int, postponed: [ListIdentifier], _ progress: ReadProgress
    ) -> SQL {
        let without = Postponement(isEmpty: postponed.isEmpty)
        let columns: SQL = "request.id, request.ordered_table, request.list, request.from_list"
        let ofRemembered: SQL = """
            UNION ALL
            SELECT early.* FROM remembered CROSS JOIN LATERAL (
                (\(earliest(columns, by: "list", of: "remembered", limit: partners)))
                UNION ALL
                (\(earliest(columns, by: "from_list", of: "remembered", limit: partners)))
            ) AS early
            """
        return """
            WITH \(remembered(progress)), \(without.relation(postponed))oldest AS MATERIALIZED (
                (SELECT \(columns)
                FROM brocot.move_requests AS request
                WHERE request.id > \(progress.floor)
                ORDER BY request.id LIMIT \(oldestRequestsPerList * lists)::bigint)
                \(progress.remaining.isEmpty ? "" : ofRemembered)
            ), ready AS MATERIALIZED (
                SELECT side.ordered_table, side.list, row_number() OVER (ORDER BY min(side.id)) AS number
                FROM (
                    SELECT oldest.ordered_table, oldest.list, oldest.id FROM oldest
                    UNION ALL
                    SELECT oldest.ordered_table, oldest.from_list, oldest.id FROM oldest WHERE oldest.from_list IS NOT NULL
                ) AS side (ordered_table, list, id)
                WHERE NOT \(without.includes("side"))
                GROUP BY side.ordered_table, side.list
                ORDER BY min(side.id) LIMIT \(lists)::bigint
            )
            \(tryLocks(partners: 0, locks: locks, without, progress))
            """
    }

    /// Waits for the lock of a list.
    static func lock(_ list: ListIdentifier) -> SQL {
        "SELECT pg_catalog.pg_advisory_xact_lock(brocot.list_lock_key(\(list.orderedTable), \(list.list)))"
    }

    /// Tries to take the locks of given lists, and of the other lists of their changes of list. No list is left out.
    static func claim(_ lists: [ListIdentifier], partners: Int, locks: Int, _ progress: ReadProgress) -> SQL {
        """
        WITH \(remembered(progress)), ready (ordered_table, list, number) AS (
            SELECT * FROM unnest(\(lists.map(\.orderedTable)), \(lists.map(\.list))) WITH ORDINALITY
        )
        \(tryLocks(partners: partners, locks: locks, Postponement(isEmpty: true), progress))
        """
    }

    /// Tries the locks. The number 0 marks the lists that were added because of changes of list. The last column is the number of lists
    /// that were found, of which some may not be among the chosen ones.
    private static func tryLocks(partners: Int, locks: Int, _ without: Postponement, _ progress: ReadProgress) -> SQL {
        """
        \(partners > 0 ? withPartners(partners, progress) : ", candidate AS (SELECT *, number AS ready_number FROM ready)")
        , chosen AS MATERIALIZED (
            SELECT candidate.ordered_table, candidate.list, candidate.ready_number
            FROM candidate
            WHERE NOT \(without.includes("candidate"))
            ORDER BY candidate.number
            LIMIT \(locks)::bigint
        ), keyed AS MATERIALIZED (
            SELECT chosen.*, brocot.list_lock_key(chosen.ordered_table, chosen.list) AS key,
                EXISTS (
                    SELECT FROM brocot.held_lists AS held
                    WHERE held.ordered_table = chosen.ordered_table AND held.list = chosen.list)
                OR EXISTS (
                    SELECT FROM brocot.ordered_tables AS registered
                    WHERE registered.name = chosen.ordered_table AND \(isWaiting("registered"))) AS is_held
            FROM chosen
            ORDER BY key
        )
        SELECT keyed.ordered_table, keyed.list, keyed.ready_number, keyed.is_held,
            CASE WHEN keyed.is_held THEN false ELSE pg_catalog.pg_try_advisory_xact_lock(keyed.key) END,
            (SELECT count(*) FROM ready)
        FROM keyed
        """
    }

    /// The lists, and the other lists of their earliest changes of list, each list once.
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
}
