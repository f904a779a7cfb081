import LibPQ
import Ordering

/// Statements that lock lists. The statement for the next lists of a round is in `QueueStatements+NextLists`.
extension QueueStatements {
    /// Whether all lists of a registered table wait, because `brocot attach` still fills the table or a person has paused it.
    static func allListsWait(of table: SQL) -> SQL {
        "(\(table).being_filled OR \(table).paused_at IS NOT NULL)"
    }

    /// The columns of the statements that claim lists: see ``tryLocks(of:_:_:_:)``. ``ListClaim`` reads them.
    enum ClaimColumn: Int {
        case orderedTable, list, number, isWaiting, isLocked, readyLists
    }

    /// How many of the oldest requests are read for each list that is wanted.
    private static let oldestRequestsPerList = 4
    /// How many requests are read of each list with requests below the floor, as target and as source.
    private static let oldestRequestsPerRememberedList = 16
    /// At most so many of the oldest requests are read to find those that don't wait. Reading them takes some hundredths of a second.
    private static let mostOldestRequestsRead = 50_000

    /// The tables whose lists all wait.
    static let waitingTable = CommonTableExpression(
        "waiting_table", as: .materialized,
        "SELECT registered.name FROM brocot.ordered_tables AS registered WHERE \(allListsWait(of: "registered"))")

    /// Tries to take the locks of the lists of the oldest requests, as target and as source. `postponed` lists and tables, and requests of
    /// waiting lists, are left out. At most `lists` lists are found.
    static func claimOldest(
        lists: Int, _ limits: ClaimLimits, postponed: PostponedNames, _ progress: ReadProgress
    ) -> SQL {
        let condition = PostponedListsCondition(postponed)
        let columns: SQL = "request.id, request.ordered_table, request.list, request.from_list"
        let ofRemembered: SQL = """
            UNION ALL
            SELECT early.* FROM remembered CROSS JOIN LATERAL (
                (\(earliest(columns, by: "list", of: "remembered", limit: oldestRequestsPerRememberedList)))
                UNION ALL
                (\(earliest(columns, by: "from_list", of: "remembered", limit: oldestRequestsPerRememberedList)))
            ) AS early
            WHERE \(neitherListWaits("early", condition))
            """
        let oldest = CommonTableExpression(
            "oldest", as: .materialized,
            """
            (SELECT early.*
            FROM (
                SELECT \(columns)
                FROM brocot.move_requests AS request
                WHERE request.id > \(progress.floor)
                ORDER BY request.id LIMIT \(mostOldestRequestsRead)::bigint
            ) AS early
            WHERE \(neitherListWaits("early", condition))
            ORDER BY early.id LIMIT \(oldestRequestsPerList * lists)::bigint)
            \(progress.remembered.isEmpty ? "" : ofRemembered)
            """)
        let ready = CommonTableExpression(
            "ready", as: .materialized,
            """
            SELECT side.ordered_table, side.list, row_number() OVER (ORDER BY min(side.id)) AS number
            FROM (
                SELECT oldest.ordered_table, oldest.list, oldest.id FROM oldest
                UNION ALL
                SELECT oldest.ordered_table, oldest.from_list, oldest.id FROM oldest WHERE oldest.from_list IS NOT NULL
            ) AS side (ordered_table, list, id)
            WHERE NOT \(condition.includes("side"))
            GROUP BY side.ordered_table, side.list
            ORDER BY min(side.id) LIMIT \(lists)::bigint
            """)
        return tryLocks(
            of: [remembered(progress), waitingTable] + condition.expressions + [oldest, ready], limits, condition,
            progress)
    }

    /// The condition that neither list of a request waits, or is left out. It does not cover requests that come after such a request:
    /// see ``RoundSearch/noteOldest(_:at:)``.
    private static func neitherListWaits(_ request: SQL, _ condition: PostponedListsCondition) -> SQL {
        let held: SQL = "SELECT held.ordered_table, held.list FROM brocot.held_lists AS held"
        return """
            \(request).ordered_table NOT IN (SELECT waiting_table.name FROM waiting_table)
                AND (\(request).ordered_table, \(request).list) NOT IN (\(held)) AND NOT \(condition.includes(request))
                AND (\(request).from_list IS NULL OR (
                    (\(request).ordered_table, \(request).from_list) NOT IN (\(held))
                    AND NOT \(condition.includes(request, column: "from_list"))))
            """
    }

    /// Tries to take the locks of given lists, and of the other lists of their changes of list. No list is left out.
    static func claim(_ lists: [ListIdentifier], _ limits: ClaimLimits, _ progress: ReadProgress) -> SQL {
        let ready = CommonTableExpression(
            "ready (ordered_table, list, number)",
            "SELECT * FROM unnest(\(lists.map(\.orderedTable)), \(lists.map(\.key))) WITH ORDINALITY")
        return tryLocks(of: [remembered(progress), ready], limits, PostponedListsCondition(.none), progress)
    }

    /// Tries to take the locks of the lists in `ready`, and of the other lists of their changes of list.
    ///
    /// At most ``ClaimLimits/locks`` lists are chosen first, and locked afterwards in the order of their keys. In one step with LIMIT, the
    /// lock function might be called for rows that LIMIT removes.
    ///
    /// - Parameters:
    ///   - expressions: `remembered`, those of `condition`, and `ready`, with all that it reads.
    ///   - limits: How much is claimed.
    ///   - condition: The lists that are left out.
    ///   - progress: How far the queue was read.
    /// - Returns: The statement. Its result has a row for each chosen list: its number, or 0 if it was added because of a change of
    ///   list; whether it waits; whether its lock was taken; and the number of all lists in `ready`.
    static func tryLocks(
        of expressions: [CommonTableExpression], _ limits: ClaimLimits, _ condition: PostponedListsCondition,
        _ progress: ReadProgress
    ) -> SQL {
        let chosen = CommonTableExpression(
            "chosen", as: .materialized,
            """
            SELECT candidate.ordered_table, candidate.list, candidate.ready_number
            FROM candidate
            WHERE NOT \(condition.includes("candidate"))
            ORDER BY candidate.number
            LIMIT \(limits.locks)::bigint
            """)
        return .with(
            expressions + candidates(partners: limits.partners, progress) + [chosen, keyed],
            """
            SELECT keyed.ordered_table, keyed.list, keyed.ready_number, keyed.is_waiting,
                CASE WHEN keyed.is_waiting THEN false ELSE pg_catalog.pg_try_advisory_xact_lock(keyed.key) END,
                (SELECT count(*) FROM ready)
            FROM keyed
            """)
    }

    /// The chosen lists with the keys of their locks, in the order of these keys, and whether each list waits.
    private static let keyed = CommonTableExpression(
        "keyed", as: .materialized,
        """
        SELECT chosen.*, brocot.list_lock_key(chosen.ordered_table, chosen.list) AS key,
            EXISTS (
                SELECT FROM brocot.held_lists AS held
                WHERE held.ordered_table = chosen.ordered_table AND held.list = chosen.list)
            OR EXISTS (
                SELECT FROM brocot.ordered_tables AS registered
                WHERE registered.name = chosen.ordered_table AND \(allListsWait(of: "registered"))) AS is_waiting
        FROM chosen
        ORDER BY key
        """)

    /// `candidate`: the lists of `ready`, and the other lists of their earliest changes of list, each list once.
    private static func candidates(partners: Int, _ progress: ReadProgress) -> [CommonTableExpression] {
        guard partners > 0 else {
            return [CommonTableExpression("candidate", "SELECT *, number AS ready_number FROM ready")]
        }
        let floored = CommonTableExpression(
            "floored", as: .materialized,
            """
            SELECT ready.*, coalesce(remembered.floor, \(progress.floor)) AS floor
            FROM ready LEFT JOIN remembered
                ON remembered.ordered_table = ready.ordered_table AND remembered.list = ready.list
            """)
        let partner = CommonTableExpression(
            "partner",
            """
            SELECT ready.number, change.ordered_table, change.list
            FROM floored AS ready
            CROSS JOIN LATERAL (
                (\(earliest(
                    "request.ordered_table, request.from_list AS list", by: "list", of: "ready",
                    where: "request.from_list IS NOT NULL", limit: partners)))
                UNION ALL
                (\(earliest("request.ordered_table, request.list", by: "from_list", of: "ready", limit: partners)))
            ) AS change
            """)
        let candidate = CommonTableExpression(
            "candidate",
            """
            SELECT either.ordered_table, either.list, max(either.ready_number) AS ready_number,
                min(either.number) AS number
            FROM (
                SELECT ordered_table, list, number, number AS ready_number FROM ready
                UNION ALL
                SELECT ordered_table, list, number, 0 FROM partner
            ) AS either
            GROUP BY either.ordered_table, either.list
            """)
        return [floored, partner, candidate]
    }
}

/// The limits of a statement that claims lists.
struct ClaimLimits {
    /// The most changes of list, for each list and direction, whose other lists are added.
    let partners: Int
    /// The most locks that are tried.
    let locks: Int
}
