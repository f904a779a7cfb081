import LibPQ

/// A row of ``QueueStatements/poll(_:)``: the state of the queue at one moment.
struct QueueState {
    /// Whether a request is pending in any list.
    let isPending: Bool
    let observation: ReadProgress.Observation
    /// Whether INSERTs of requests notify the daemons, because one of them has set the sleep flag.
    let insertsNotify: Bool

    /// Whether no open transaction may have inserted requests. If no id was handed out yet, or sessions take ids in advance, the locks of open
    /// transactions were not read.
    var showsNoWriter: Bool { observation.lastID > 0 && observation.writers.isEmpty }
}

extension QueueState {
    init(_ row: Row) throws(PostgresError) {
        typealias Column = QueueStatements.PollColumn
        isPending = try row.decode(Column.isPending)
        observation = ReadProgress.Observation(
            lastID: try row.decode(Column.lastID), locks: try row.decode(Column.writers),
            newestTransaction: try row.decode(Column.newestTransaction))
        insertsNotify = try row.decode(Column.insertsNotify)
    }
}

extension ReadProgress.Observation {
    /// - Parameters:
    ///   - lastID: The last id that was handed out.
    ///   - locks: For each writer, its name and the 32-bit ids of its transaction and subtransactions, separated by blanks.
    ///   - newestTransaction: A 64-bit transaction id that is less than 2^31 away from all of them.
    init(lastID: Int64, locks: [String], newestTransaction: Int64) {
        var writers: [String: ReadProgress.Writer] = [:]
        for lock in locks {
            let words = lock.split(separator: " ")
            let transactions = words.dropFirst().compactMap { UInt32($0) }.map { transaction in
                newestTransaction + Int64(Int32(truncatingIfNeeded: Int64(transaction) - newestTransaction))
            }
            // A subtransaction gets its id after its transaction, so the lowest id is the transaction's.
            writers[String(words[0])] = ReadProgress.Writer(transaction: transactions.min())
        }
        self.init(lastID: lastID, writers: writers)
    }
}
