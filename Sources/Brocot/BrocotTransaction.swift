import LibPQ
import Ordering

/// A transaction of the caller's own, at READ COMMITTED, in which its statements and changes of order happen together.
///
/// It exists within the closure of ``BrocotClient/transaction(_:)`` only. Changes of order wait for the locks of their
/// lists and keep them to the end. To wait for further lists then could be a deadlock, so the first such call decides:
/// it takes its lists' locks, or ``lock(_:)`` takes those of all lists to come; calls on others are refused.
public struct BrocotTransaction: ~Copyable {
    let connection: Connection
    /// The lists whose locks the first call took.
    private var locked: Set<ListIdentifier> = []

    init(_ connection: Connection) { self.connection = connection }

    /// The most lists of one transaction: each lock takes a slot of a table that all sessions of the server share.
    static let mostLists = 256

    // MARK: Statements

    /// Runs a statement.
    ///
    /// - Returns: the rows that it changed, or for a SELECT found.
    /// - Throws: ``BrocotError``.
    @discardableResult
    public mutating func execute(_ statement: SQLStatement) throws(BrocotError) -> Int {
        try run(statement).affectedRows
    }

    /// Runs a statement, and returns its rows.
    ///
    /// - Throws: ``BrocotError``.
    public mutating func query(_ statement: SQLStatement) throws(BrocotError) -> [ResultRow] {
        try run(statement).map(ResultRow.init)
    }

    private func run(_ statement: SQLStatement) throws(BrocotError) -> Rows {
        let (rows, status) = try onConnection { connection throws(PostgresError) in
            (try connection.query(statement.sql), connection.transactionStatus)
        }
        guard status == .inTransaction else {
            throw BrocotError(
                .misuse, "a statement ended the transaction; to commit, let its closure return, and to roll back, throw"
            )
        }
        return rows
    }

    // MARK: Locks

    /// Waits for the locks of lists, so that calls on any of them may follow. To be called before every change of order,
    /// and best before the transaction's first statement: who waits here while he holds rows of an ordered table that a
    /// daemon wants to move can deadlock with it.
    ///
    /// - Parameter lists: 1 to 256, in any order.
    /// - Throws: ``BrocotError`` `listNotLocked` where the transaction holds locks of other lists already,
    ///   `snapshotIsolation`, …
    public mutating func lock(_ lists: [ListIdentifier]) throws(BrocotError) {
        for list in lists { try MoveRules.check(list) }
        try hold(Set(lists))
    }

    /// Takes the locks, also those that it has: they cost little, and a statement of the caller's, such as ROLLBACK TO
    /// SAVEPOINT, may have let go of all of them.
    mutating func hold(_ lists: Set<ListIdentifier>) throws(BrocotError) {
        guard (1...Self.mostLists).contains(lists.count) else {
            throw BrocotError(
                .invalidArgument, "a transaction locks 1 to \(Self.mostLists) lists, not \(lists.count)")
        }
        if !locked.isEmpty, let other = lists.subtracting(locked).min(by: { $0.description < $1.description }) {
            throw BrocotError(
                .listNotLocked,
                "list \(other) is not among the lists that this transaction locked first, and to wait for it now could "
                    + "be a deadlock; lock all lists in one call before the first move, or use a transaction for each")
        }
        let wanted = locked.isEmpty ? lists : locked
        let level = try onConnection { connection throws(PostgresError) in
            try connection.query(LibraryStatements.lock(wanted)).single().decode(0, as: String.self)
        }
        guard ["read committed", "read uncommitted"].contains(level) else {
            throw BrocotError(
                .snapshotIsolation,
                "the transaction runs at \(level.uppercased()): its snapshot may be older than the lock of a list, so "
                    + "that a move would be applied to an order that is out of date; enqueue the move, or leave the "
                    + "transaction at READ COMMITTED")
        }
        locked = wanted
    }

    /// Runs on the connection, where the closure that this value is lent to runs too.
    func onConnection<Value: Sendable>(
        _ body: @Sendable (isolated Connection) throws(PostgresError) -> Value
    ) throws(BrocotError) -> Value {
        let result = connection.assumeIsolated { connection in
            Result { () throws(PostgresError) in try body(connection) }
        }
        do throws(PostgresError) { return try result.get() } catch { throw BrocotError(error) }
    }
}
