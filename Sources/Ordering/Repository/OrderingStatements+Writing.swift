import LibPQ

/// The statements that lock and write rows.
extension OrderingStatements {
    /// Locks rows in the order of the changes, and counts them.
    ///
    /// A row that an application changes at the same time is waited for here. In the statement that writes it, the row would
    /// have left its place, and would be missed.
    func lock(_ changes: some Collection<RowChange>) -> SQL {
        """
        SELECT count(*)
        FROM unnest(\(listColumns.arrays(changes.compactMap(\.storedList)))\(items(changes.map(\.key)))) AS moved (\(listColumns.names())item)
        CROSS JOIN LATERAL (\(lookUp("", of: "moved")) FOR NO KEY UPDATE) AS found
        """
    }

    /// What the column `rank` must hold beside a pair: whoever writes the one writes the other.
    private func sortKey(of pair: SQL) -> SQL { "trim_scale(\(pair).num::numeric(57, 38) / \(pair).den)" }

    /// How strongly rows are locked: as much as what is done with them would do.
    enum RowLock: String {
        case forRanks = "FOR NO KEY UPDATE"
        case forKeys = "FOR UPDATE"
    }

    /// Locks the stored rows of changes that nobody has locked, without waiting: the numbers of those that were locked, from 1.
    func lockFree(_ changes: some Collection<RowChange>, _ lock: RowLock) -> SQL {
        """
        SELECT wanted.number
        FROM unnest(\(listColumns.arrays(changes.compactMap(\.storedList)))\(items(changes.map(\.key))))
            WITH ORDINALITY AS wanted (\(listColumns.names())item, number)
        CROSS JOIN LATERAL (\(lookUp("", of: "wanted")) \(unsafeRaw: lock.rawValue) SKIP LOCKED) AS found
        """
    }

    /// How many rows a statement writes with the list and the rank that were asked for: a trigger may return NULL, or
    /// another row than it was given.
    private func countAsAsked(_ statement: SQL, _ isAsAsked: SQL) -> SQL {
        """
        WITH written AS (
            \(statement)
            RETURNING \(isAsAsked) AS is_as_asked
        )
        SELECT count(*) FILTER (WHERE written.is_as_asked) FROM written
        """
    }

    private func isAsAsked(list: String) -> SQL {
        """
        \(listColumns.equal("stored", "moved", named: list))
            AND (stored.\(num), stored.\(den)) IS NOT DISTINCT FROM (moved.num, moved.den)
        """
    }

    func delete(_ changes: some Collection<RowChange>) -> SQL {
        countAsAsked(
            """
            DELETE FROM \(table) AS stored
            USING unnest(\(listColumns.arrays(changes.compactMap(\.storedList)))\(items(changes.map(\.key)))) AS gone (\(listColumns.names())item)
            \(place(of: "gone"))
            WHERE \(isFound(by: "gone"))
            """, "true")
    }

    func updateRanks(_ changes: some Collection<RowChange>) -> SQL {
        countAsAsked(
            """
            UPDATE \(table) AS stored
            SET \(num) = moved.num, \(den) = moved.den, \(rank) = \(sortKey(of: "moved"))
            FROM unnest(
                \(listColumns.arrays(changes.compactMap(\.storedList)))\(items(changes.map(\.key))),
                \(changes.map { $0.rank?.numerator }), \(changes.map { $0.rank?.denominator })
            ) AS moved (\(listColumns.names())item, num, den)
            \(place(of: "moved"))
            WHERE \(isFound(by: "moved"))
            """, isAsAsked(list: "list"))
    }

    /// Takes the ranks from rows, so that others may have them.
    func takeRanks(_ changes: some Collection<RowChange>) -> SQL {
        countAsAsked(
            """
            UPDATE \(table) AS stored
            SET \(num) = NULL, \(den) = NULL, \(rank) = NULL
            FROM unnest(\(listColumns.arrays(changes.compactMap(\.storedList)))\(items(changes.map(\.key))))
                AS moved (\(listColumns.names())item)
            \(place(of: "moved"))
            WHERE \(isFound(by: "moved"))
            """, "\(listColumns.equal("stored", "moved")) AND stored.\(rank) IS NULL")
    }

    /// Ranks and lists at once: in between, a row would stand on the rank of one that has yet to leave.
    func updateListsAndRanks(_ changes: some Collection<RowChange>) -> SQL {
        countAsAsked(
            """
            UPDATE \(table) AS stored
            SET \(listColumns.assignments(from: "moved", "new_list"))\(num) = moved.num, \(den) = moved.den,
                \(rank) = \(sortKey(of: "moved"))
            FROM unnest(
                \(listColumns.arrays(changes.compactMap(\.storedList)))\(items(changes.map(\.key))),
                \(listColumns.arrays(changes.compactMap(\.list)))
                \(changes.map { $0.rank?.numerator }), \(changes.map { $0.rank?.denominator })
            ) AS moved (\(listColumns.names())item, \(listColumns.names("new_list"))num, den)
            \(place(of: "moved"))
            WHERE \(isFound(by: "moved"))
            """, isAsAsked(list: "new_list"))
    }

    /// What is asked for is compared in a hashed subplan, which is one of the aggregate's filter only: elsewhere it would
    /// become a join.
    func insert(_ changes: some Collection<RowChange>) -> SQL {
        """
        WITH asked AS MATERIALIZED (
            SELECT * FROM unnest(
                \(listColumns.arrays(changes.compactMap(\.list)))\(items(changes.map(\.key))),
                \(changes.compactMap { $0.rank?.numerator }), \(changes.compactMap { $0.rank?.denominator })
            ) AS asked (\(listColumns.names())item, num, den)
        ), written AS (
            INSERT INTO \(table) (\(listColumns.columns())\(itemColumn), \(num), \(den), \(rank))
            SELECT asked.*, \(sortKey(of: "asked")) FROM asked
            RETURNING \(listColumns.columns(named: "list"))\(itemColumn) AS item, \(num) AS num, \(den) AS den
        )
        SELECT count(*) FILTER (
            WHERE (\(listColumns.names(of: "written"))written.item, written.num, written.den) IN (
                SELECT \(listColumns.names(of: "asked"))asked.item, asked.num, asked.den FROM asked))
        FROM written
        """
    }
}
