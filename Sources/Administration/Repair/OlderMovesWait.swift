import LibPQ

/// The wait for older transactions, which read the registry before it said that moves are refused. They may still move
/// rows.
///
/// Such a transaction has a lock of the registry until it ends, and the lock of a list, or waits for it. It takes both
/// locks within a moment. A transaction that has no list's lock after this moment, such as the one of a dump, moves no
/// rows, so it is not waited for.
struct OlderMovesWait {
    private static let moment = Duration.seconds(1)
    private static let pause = Duration.milliseconds(50)

    let connection: Connection
    /// The longest wait.
    var limit = Duration.seconds(30)

    /// - Throws: ``AttachError/lockTimeout(step:holders:)``; ``AttachError/database(_:)``; ``AttachError/cancelled``.
    func run() async throws(AttachError) {
        let begin = ContinuousClock.now
        var older = try await transactions()
        while !older.isEmpty {
            let waited = begin.duration(to: .now)
            guard waited < limit else {
                throw .lockTimeout(
                    step: "wait for transactions that move rows",
                    holders: try await DescribedLockHolder.read(Self.holders(Array(older.keys)), on: connection))
            }
            do { try await Task.sleep(for: Self.pause) } catch { throw .cancelled }
            let present = try await transactions()
            older = present.filter { transaction, hasListLock in
                older.keys.contains(transaction) && (hasListLock || waited < Self.moment)
            }
        }
    }

    /// The other transactions that have read the registry, and whether they have the lock of a list or wait for it.
    private func transactions() async throws(AttachError) -> [String: Bool] {
        try await connection.inReadOnlyTransaction { connection throws(PostgresError) in
            var transactions: [String: Bool] = [:]
            for row in try connection.query(Self.statement) {
                transactions[try row.decode(0)] = try row.decode(1, as: Bool.self)
            }
            return transactions
        }
    }

    private static func holders(_ transactions: [String]) -> SQL {
        LockHolderStatements.holders(
            where: """
                holder.locktype = 'relation' AND holder.relation = 'brocot.ordered_tables'::regclass
                    AND holder.virtualtransaction = ANY (\(transactions))
                """)
    }

    private static let statement: SQL = """
        SELECT reader.virtualtransaction, EXISTS (
            SELECT FROM pg_locks AS list
            WHERE list.virtualtransaction = reader.virtualtransaction AND list.locktype = 'advisory' AND list.objsubid = 1)
        FROM pg_locks AS reader
        WHERE reader.locktype = 'relation' AND reader.relation = 'brocot.ordered_tables'::regclass
            AND reader.database = (SELECT own.oid FROM pg_database AS own WHERE own.datname = current_database())
            AND reader.pid IS DISTINCT FROM pg_backend_pid()
        """
}
