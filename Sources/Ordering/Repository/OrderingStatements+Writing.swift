import LibPQ

/// The statements that lock and write rows.
extension OrderingStatements {
    /// Locks rows in the order of the changes, and counts them.
    ///
    /// This waits for applications that change the rows at the same time. A statement that writes a row finds it by its location, and
    /// would miss a row that was changed in between.
    func lock(_ changes: some Collection<RowChange>, _ lock: LockStrength) -> SQL {
        """
        SELECT count(*)
        FROM \(storedRows(of: changes)) AS moved (\(listColumns.names())item)
        CROSS JOIN LATERAL (\(lookUp("", of: "moved")) \(unsafeRaw: lock.rawValue)) AS found
        """
    }

    /// A relation with the keys of the stored rows of changes, and further columns.
    private func storedRows(of changes: some Collection<RowChange>, _ others: SQL...) -> SQL {
        relation(of: changes.compactMap(\.storedList), changes.map(\.key), others)
    }

    /// The value of the column `rank` for a fraction. Every statement that writes a fraction writes this value too.
    private func sortKey(of pair: SQL) -> SQL {
        "pg_catalog.trim_scale(\(SortKey.value("\(pair).num", "\(pair).den")))"
    }

    /// The strength of row locks: that of the UPDATE which follows.
    enum LockStrength: String {
        case forRanks = "FOR NO KEY UPDATE"
        case forKeys = "FOR UPDATE"
    }

    /// Locks the stored rows of changes without waiting. Rows that another session has locked are left out. Returns the numbers of the
    /// locked rows, from 1.
    func tryLock(_ changes: some Collection<RowChange>, _ lock: LockStrength) -> SQL {
        """
        SELECT wanted.number
        FROM \(storedRows(of: changes))
            WITH ORDINALITY AS wanted (\(listColumns.names())item, number)
        CROSS JOIN LATERAL (\(lookUp("", of: "wanted")) \(unsafeRaw: lock.rawValue) SKIP LOCKED) AS found
        """
    }

    /// Runs a statement, and counts the rows that got the requested list and rank. A trigger may have returned NULL or another
    /// row.
    private func countAsRequested(_ statement: SQL, _ isAsRequested: SQL) -> SQL {
        """
        WITH written AS (
            \(statement)
            RETURNING \(isAsRequested) AS is_as_requested
        )
        SELECT count(*) FILTER (WHERE written.is_as_requested) FROM written
        """
    }

    private func isAsRequested(list: String) -> SQL {
        """
        \(listColumns.equal("stored", "moved", named: list))
            AND (stored.\(num), stored.\(den)) IS NOT DISTINCT FROM (moved.num, moved.den)
        """
    }

    func delete(_ changes: some Collection<RowChange>) -> SQL {
        countAsRequested(
            """
            DELETE FROM \(table) AS stored
            USING \(storedRows(of: changes)) AS gone (\(listColumns.names())item)
            \(location(of: "gone"))
            WHERE \(isFound(by: "gone"))
            """, "true")
    }

    func updateRanks(_ changes: some Collection<RowChange>) -> SQL {
        countAsRequested(
            """
            UPDATE \(table) AS stored
            SET \(num) = moved.num, \(den) = moved.den, \(rank) = \(sortKey(of: "moved"))
            FROM \(storedRows(
                of: changes,
                "\(changes.map { $0.rank?.numerator })", "\(changes.map { $0.rank?.denominator })"
            )) AS moved (\(listColumns.names())item, num, den)
            \(location(of: "moved"))
            WHERE \(isFound(by: "moved"))
            """, isAsRequested(list: "list"))
    }

    /// Removes the ranks of rows, so that other rows can get these ranks.
    func clearRanks(_ changes: some Collection<RowChange>) -> SQL {
        countAsRequested(
            """
            UPDATE \(table) AS stored
            SET \(num) = NULL, \(den) = NULL, \(rank) = NULL
            FROM \(storedRows(of: changes))
                AS moved (\(listColumns.names())item)
            \(location(of: "moved"))
            WHERE \(isFound(by: "moved"))
            """, "\(listColumns.equal("stored", "moved")) AND stored.\(rank) IS NULL")
    }

    /// Writes lists and ranks in one statement. Between two statements, a row could have the list and rank of a row that still has to
    /// leave.
    func updateListsAndRanks(_ changes: some Collection<RowChange>) -> SQL {
        countAsRequested(
            """
            UPDATE \(table) AS stored
            SET \(listColumns.assignments(from: "moved", "new_list"))\(num) = moved.num, \(den) = moved.den,
                \(rank) = \(sortKey(of: "moved"))
            FROM ROWS FROM (
                \(listColumns.arrays(changes.compactMap(\.storedList)))\(unnested(changes.map(\.key))),
                \(listColumns.arrays(changes.compactMap(\.list)))
                pg_catalog.unnest(\(changes.map { $0.rank?.numerator })),
                pg_catalog.unnest(\(changes.map { $0.rank?.denominator }))
            ) AS moved (\(listColumns.names())item, \(listColumns.names("new_list"))num, den)
            \(location(of: "moved"))
            WHERE \(isFound(by: "moved"))
            """, isAsRequested(list: "new_list"))
    }

    /// The written rows are compared with the requested rows in a hashed subplan. The comparison is in the aggregate's FILTER,
    /// because elsewhere the planner would make a join of it.
    func insert(_ changes: some Collection<RowChange>) -> SQL {
        """
        WITH requested AS MATERIALIZED (
            SELECT * FROM \(relation(
                of: changes.compactMap(\.list), changes.map(\.key),
                ["\(changes.compactMap { $0.rank?.numerator })", "\(changes.compactMap { $0.rank?.denominator })"]
            )) AS requested (\(listColumns.names())item, num, den)
        ), written AS (
            INSERT INTO \(table) (\(listColumns.columns())\(itemColumn), \(num), \(den), \(rank))
            SELECT requested.*, \(sortKey(of: "requested")) FROM requested
            RETURNING \(listColumns.columns(named: "list"))\(itemColumn) AS item, \(num) AS num, \(den) AS den
        )
        SELECT count(*) FILTER (
            WHERE (\(listColumns.names(of: "written"))written.item, written.num, written.den) \(Operators.equal) ANY (
                SELECT \(listColumns.names(of: "requested"))requested.item, requested.num, requested.den FROM requested))
        FROM written
        """
    }
}
