import LibPQ
import Ordering

/// The statement that claims the next lists of a round.
extension QueueStatements {
    /// Finds the next lists with pending requests in the order of a round, and the other lists of their changes of list. Then it
    /// tries to take the lock of each list, unless the list waits.
    ///
    /// The statement has these steps, each of which reads the rows of the one before:
    ///
    /// - `scanned`: the lists of the next requests, from one scan of an index.
    /// - `visited`: these lists, and further lists, each found by a look-up in the index.
    /// - `ready`: without the postponed lists, and with the lists that have requests below the floor.
    /// - `candidate`, `chosen`, `keyed`: see ``tryLocks(of:_:_:_:)``.
    ///
    /// - Parameters:
    ///   - position: Where the worker is in its round.
    ///   - lists: The most lists that are found.
    ///   - readingAhead: The most requests that `scanned` reads.
    ///   - limits: How much is claimed.
    ///   - postponed: Lists and tables that are left out.
    ///   - progress: How far the queue was read.
    /// - Returns: The statement. Its result is described at ``tryLocks(of:_:_:_:)``.
    static func claimNext(
        from position: RoundPosition, lists: Int, readingAhead: Int, _ limits: ClaimLimits,
        postponed: PostponedNames = .none, _ progress: ReadProgress
    ) -> SQL {
        let condition = PostponedListsCondition(postponed)
        let ready: SQL =
            progress.remembered.isEmpty && postponed.isEmpty
            ? "SELECT visited.ordered_table, visited.list, visited.number FROM visited"
            : numbered(from: position, lists: lists, condition, progress)
        return tryLocks(
            of: [remembered(progress), waitingTable] + condition.expressions
                + (position.isBeginning ? oldestRequests(lists, progress) : [])
                + [
                    scanned(from: position, readingAhead: readingAhead, condition, progress),
                    visited(from: position, lists: lists, condition, progress),
                    CommonTableExpression("ready", as: .materialized, ready),
                ],
            limits, condition, progress)
    }

    /// The first pending requests of all lists, and whether there are fewer than `limit`. If so, these requests give all lists,
    /// and the search need not step over deleted requests of other lists.
    private static func oldestRequests(_ limit: Int, _ progress: ReadProgress) -> [CommonTableExpression] {
        let oldest = CommonTableExpression(
            "oldest", as: .materialized,
            """
            SELECT request.ordered_table, request.list
            FROM brocot.move_requests AS request
            WHERE request.id > \(progress.floor)
            ORDER BY request.id LIMIT \(limit)::bigint
            """)
        let shortQueue = CommonTableExpression(
            "short_queue", as: .materialized, "SELECT count(*) < \(limit)::bigint AS is_whole_queue FROM oldest")
        return [oldest, shortQueue]
    }

    /// The condition that ``oldestRequests(_:_:)`` does not give all lists.
    private static func needsSearch(from position: RoundPosition) -> SQL {
        position.isBeginning ? "NOT (SELECT is_whole_queue FROM short_queue)" : "true"
    }

    /// The lists of the last `readingAhead` entries of the queue's index, which are read in one scan. One scan is cheaper than a
    /// look-up for each list, if most lists have one request. At the beginning of a round the scan is skipped if only few requests are pending.
    ///
    /// `number` counts all lists, and `wanted` the lists that are not postponed.
    private static func scanned(
        from position: RoundPosition, readingAhead: Int, _ condition: PostponedListsCondition, _ progress: ReadProgress
    ) -> CommonTableExpression {
        let listsOfShortQueue: SQL = """
            SELECT oldest.ordered_table, oldest.list FROM oldest WHERE (SELECT is_whole_queue FROM short_queue)
            UNION ALL
            """
        return CommonTableExpression(
            "scanned", as: .materialized,
            """
            SELECT last.ordered_table, last.list, row_number() OVER in_order AS number,
                count(*) FILTER (WHERE NOT \(condition.includes("last"))) OVER in_order AS wanted
            FROM (
                \(position.isBeginning ? listsOfShortQueue : "")
                (SELECT request.ordered_table, request.list
                FROM brocot.move_requests AS request
                WHERE \(needsSearch(from: position)) AND \(isLater("request", from: position)) AND request.id > \(progress.floor)
                ORDER BY request.ordered_table DESC, request.list DESC LIMIT \(readingAhead)::bigint)
            ) AS last
            GROUP BY last.ordered_table, last.list
            WINDOW in_order AS (ORDER BY last.ordered_table DESC, last.list DESC)
            """)
    }

    /// The lists with requests beyond the floor, in descending order: those of ``scanned(from:readingAhead:_:_:)``, and further ones.
    ///
    /// The statement is a loose index scan (skip scan) in descending order: one probe for each list. So it enters each list at its
    /// newest request, after the list's deleted requests, and steps over these only if the list has no pending request. Of a
    /// table whose lists all wait, or are left out, only the first list is found.
    ///
    /// The first probe starts from the last row of `scanned`: its `number` equals the number of rows of `scanned`. Each
    /// later probe starts from the row that the probe before found. The probes end when `lists` lists are not
    /// postponed.
    private static func visited(
        from position: RoundPosition, lists: Int, _ condition: PostponedListsCondition, _ progress: ReadProgress
    ) -> CommonTableExpression {
        CommonTableExpression(
            "visited (ordered_table, list, number, wanted)", as: .recursive,
            """
            SELECT scanned.ordered_table, scanned.list, scanned.number, scanned.wanted FROM scanned
            UNION ALL
            SELECT next.ordered_table, next.list, visited.number + 1,
                visited.wanted + (NOT \(condition.includes("next")))::integer
            FROM visited
            CROSS JOIN LATERAL (
                SELECT request.ordered_table, request.list
                FROM brocot.move_requests AS request
                WHERE (request.ordered_table, request.list) < (visited.ordered_table, CASE
                        WHEN visited.ordered_table IN (SELECT waiting_table.name FROM waiting_table)
                            OR \(condition.includesTable("visited.ordered_table")) THEN ''
                        ELSE visited.list
                    END)
                    AND request.id > \(progress.floor)
                ORDER BY request.ordered_table DESC, request.list DESC LIMIT 1
            ) AS next
            WHERE \(needsSearch(from: position)) AND visited.number >= (SELECT count(*) FROM scanned)
                AND visited.wanted < \(lists)::bigint
            """)
    }

    /// The lists without the postponed ones, and with the lists that have requests below the floor, in their order.
    private static func numbered(
        from position: RoundPosition, lists: Int, _ condition: PostponedListsCondition, _ progress: ReadProgress
    ) -> SQL {
        let oldLists: SQL = """
            UNION
            SELECT remembered.ordered_table, remembered.list
            FROM remembered CROSS JOIN LATERAL (\(earliest("request.id", by: "list", of: "remembered"))) AS first
            WHERE \(isLater("remembered", from: position))
            """
        return """
            SELECT with_requests.ordered_table, with_requests.list, row_number() OVER in_order AS number
            FROM (
                SELECT visited.ordered_table, visited.list FROM visited
                \(progress.remembered.isEmpty ? "" : oldLists)
            ) AS with_requests
            WHERE NOT \(condition.includes("with_requests"))
            WINDOW in_order AS (ORDER BY with_requests.ordered_table DESC, with_requests.list DESC)
            ORDER BY number LIMIT \(lists)::bigint
            """
    }

    /// The condition that the list of a row comes later in the round than a position.
    private static func isLater(_ row: SQL, from position: RoundPosition) -> SQL {
        switch position {
        case .beginning: "true"
        case .at(let list): "(\(row).ordered_table, \(row).list) <= (\(list.orderedTable)::text, \(list.key)::text)"
        case .behind(let list): "(\(row).ordered_table, \(row).list) < (\(list.orderedTable)::text, \(list.key)::text)"
        }
    }
}
