import LibPQ
import Ordering

/// A transaction at READ COMMITTED that contains the caller's statements and changes of order.
///
/// The transaction exists only in the closure of ``BrocotClient/transaction(_:)``. The first change of order waits for
/// the locks of its lists, and the transaction keeps these locks to its end. Waiting for further lists could cause a
/// deadlock, so later calls on other lists are refused. To change several lists, call ``lock(_:)`` with all of them
/// first.
///
/// The value can't be copied, and its methods are `mutating`. So it can't leave the closure, and nothing else uses it
/// during a call.
public struct BrocotTransaction: ~Copyable {
    let connection: Connection
    /// The lists whose locks this transaction has.
    private var locked: Set<ListIdentifier> = []

    init(_ connection: Connection) { self.connection = connection }

    // MARK: Statements

    /// Runs a statement.
    ///
    /// - Returns: How many rows it changed, or for a SELECT returned.
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
        guard status == .inTransaction else { throw Self.ended }
        return rows
    }

    private static let ended = BrocotError(
        .misuse,
        "a statement ended the transaction: COMMIT committed what preceded it, and ROLLBACK undid it. The transaction runs no further "
            + "statement. Return from the closure to commit, or throw to roll back")

    /// Refuses a call after a statement of the caller has ended the transaction: it would be committed by itself.
    func requireTransaction() throws(BrocotError) {
        guard connection.assumeIsolated({ $0.transactionStatus }) != .idle else { throw Self.ended }
    }

    // MARK: Locks

    /// Waits for the locks of lists, so that the transaction can change the order of each of them. Call it before the first
    /// change of order, and if possible before the transaction's first statement: a transaction that has changed rows of an
    /// ordered table and then waits here can cause a deadlock with a daemon that moves these rows.
    ///
    /// - Parameter lists: 1 to 256 lists, in any order.
    /// - Throws: ``BrocotError`` `listNotLocked` if the transaction already has locks of other lists, `snapshotIsolation`,
    ///   `invalidArgument`, or an error of the server.
    public mutating func lock(_ lists: [ListIdentifier]) throws(BrocotError) {
        for list in lists { try MoveRules.check(list) }
        try takeLocks(of: Set(lists))
    }

    /// Takes the locks, even if the transaction already has them: this is cheap, and a statement of the caller, such as
    /// ROLLBACK TO SAVEPOINT, may have released them.
    mutating func takeLocks(of lists: Set<ListIdentifier>) throws(BrocotError) {
        guard (1...AdvisoryLock.mostLists).contains(lists.count) else {
            throw BrocotError(
                .invalidArgument, "a transaction locks 1 to \(AdvisoryLock.mostLists) lists, not \(lists.count)")
        }
        if !locked.isEmpty, let other = lists.subtracting(locked).min(by: { $0.description < $1.description }) {
            throw BrocotError(
                .listNotLocked,
                "list \(other) is not among the lists that this transaction has locked, and waiting for it now could cause "
                    + "a deadlock; lock all lists in one call before the first move, or use one transaction for each list"
            )
        }
        let wanted = locked.isEmpty ? lists : locked
        let level = try onConnection { connection throws(PostgresError) in
            try connection.query(LibraryStatements.lock(wanted)).single().decode(0, as: String.self)
        }
        guard ["read committed", "read uncommitted"].contains(level) else {
            throw BrocotError(
                .snapshotIsolation,
                "the transaction runs at \(level.uppercased()), so its snapshot may be older than the list's lock, and the "
                    + "move would be applied to an outdated order; enqueue the move, or use READ COMMITTED")
        }
        locked = wanted
    }

    /// Runs `body` on the connection. The closure that uses this transaction runs there too.
    func onConnection<Value: Sendable>(
        _ body: @Sendable (isolated Connection) throws(PostgresError) -> Value
    ) throws(BrocotError) -> Value {
        try requireTransaction()
        let result = connection.assumeIsolated { connection in
            Result { () throws(PostgresError) in try body(connection) }
        }
        do throws(PostgresError) { return try result.get() } catch { throw BrocotError(error) }
    }
}
