import LibPQ
import SternBrocot

/// Locking and writing rows.
extension OrderedTableRepository {
    /// Tries to lock the stored rows of changes, without waiting. So there is no deadlock with an application that has locked such a
    /// row and waits for the list.
    ///
    /// - Returns: The lists of rows that another session has locked, or that have left their list since they were read.
    func tryLockRows(
        of changes: [RowChange], on connection: isolated Connection
    ) throws(OrderingError) -> Set<ListIdentifier> {
        var lists: Set<ListIdentifier> = []
        let deadline = deadlineOfLists()
        for (changes, lock) in groupedByLock(changes.filter { !$0.isInsertion }) {
            for (statements, changes) in groupedByStoredList(changes) {
                var missing = Set(changes.indices)
                for row in try rows(statements.tryLock(changes, lock), until: deadline, on: connection) {
                    missing.remove(try indexOfArgument(of: row))
                }
                for index in missing {
                    let involved = [changes[index].storedList, changes[index].list].compactMap(\.self)
                    lists.formUnion(involved.map { ListIdentifier($0, of: table.name) })
                }
            }
        }
        return lists
    }

    /// Changes of stored rows, with the row lock that each one needs. A lock that becomes stronger later could cause a deadlock.
    private func groupedByLock(_ changes: [RowChange]) -> [([RowChange], OrderingStatements.LockStrength)] {
        func changesKey(_ change: RowChange) -> Bool { change.isDeletion || change.changesList && table.listIsInKey }
        return [(changes.filter(changesKey), .forKeys), (changes.filter { !changesKey($0) }, .forRanks)]
    }

    private func groupedByStoredList(
        _ changes: [RowChange]
    ) -> [(statements: OrderingStatements, elements: [RowChange])] {
        groupedByStatements(changes, in: { $0.storedList ?? "" })
    }

    /// A statement that writes rows, and returns how many were written as requested.
    struct Write {
        let statement: SQL
        /// The number of rows that it must write as requested.
        let rows: Int
    }

    /// Writes the net effects of a batch. With `waitsForRows`, the stored rows of a user's table are locked first, which waits for
    /// sessions that have locked them.
    func write(
        _ changes: [RowChange], waitsForRows: Bool, on connection: isolated Connection
    ) throws(OrderingError) {
        guard !changes.isEmpty else { return }
        let deadlineOfLocking = deadlineOfLists()
        if waitsForRows, !table.isBuiltIn {
            for (stored, lock) in groupedByLock(changes.filter { !$0.isInsertion }) {
                for (statements, stored) in groupedByStoredList(stored) {
                    let locked = try rows(statements.lock(stored, lock), until: deadlineOfLocking, on: connection)
                    try requireWritten(try written(locked), of: stored.count)
                }
            }
        }
        if let announcement { _ = try connection.rows(announcement) }
        let deadline = deadlineOfLists()
        for write in writes(changes) {
            let rows = try rows(write.statement, until: deadline, on: connection)
            try requireWritten(try written(rows), of: write.rows)
        }
        if !table.isBuiltIn { _ = try connection.rows(OrderingStatements.endOfWriting) }
    }

    /// The statement that tells the order's triggers that Brocot is writing; nil if the table has no such triggers.
    var announcement: SQL? { table.isBuiltIn ? nil : OrderingStatements.beginningOfWriting(in: table.name) }

    /// The statements that write the net effects of a batch: deletions, then updates, then insertions.
    func writes(_ changes: [RowChange]) -> [Write] {
        let deletions = changes.filter(\.isDeletion)
        let updates = changes.filter(\.isUpdate)
        let insertions = changes.filter(\.isInsertion)
        var writes: [Write] = []
        for (statements, rows) in groupedByStoredList(deletions) {
            writes.append(Write(statement: statements.delete(rows), rows: rows.count))
        }
        for (statements, rows) in groupedByStoredList(table.isBuiltIn ? [] : rowsToClear(among: updates)) {
            writes.append(Write(statement: statements.clearRanks(rows), rows: rows.count))
        }
        for group in RowChangeGroups(updates).groups {
            for (statements, rows) in groupedByStoredList(group) {
                let changesLists = rows.contains(where: \.changesList)
                let statement = changesLists ? statements.updateListsAndRanks(rows) : statements.updateRanks(rows)
                writes.append(Write(statement: statement, rows: rows.count))
            }
        }
        if !insertions.isEmpty {
            writes.append(Write(statement: statements.insert(insertions), rows: insertions.count))
        }
        return writes
    }

    /// The number of rows that a write has written as requested.
    func written(_ rows: Rows) throws(OrderingError) -> Int {
        try wrappingErrors { () throws(PostgresError) in try rows.single().decode(0, as: Int.self) }
    }

    /// The rows whose ranks are removed first: rows whose stored rank another of the rows gets, because the unique index of a user's table is
    /// checked after each row; and rows that come into another list without a rank, so that the order's triggers do not place them.
    private func rowsToClear(among changes: [RowChange]) -> [RowChange] {
        var wanted: [ExactText: Set<Rank>] = [:]
        for change in changes {
            guard let list = change.list, let rank = change.rank else { continue }
            wanted[ExactText(list), default: []].insert(rank)
        }
        return changes.filter { change in
            guard let list = change.storedList, let rank = change.storedRank else { return false }
            return change.rank == nil && change.changesList || wanted[ExactText(list)]?.contains(rank) == true
        }
    }

    /// Makes sure that as many rows were written as requested.
    ///
    /// - Throws: ``OrderingError/unexpectedRowCount(table:expected:written:)`` if the two numbers of rows differ.
    func requireWritten(_ written: Int, of expected: Int) throws(OrderingError) {
        guard written == expected else {
            throw .unexpectedRowCount(table: table.name, expected: expected, written: written)
        }
    }
}
