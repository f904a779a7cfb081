import LibPQ
import Logging
import Ordering

/// The client of a Swift server: it changes the order of lists at once or through the queue, and reads lists.
///
/// ```swift
/// let client = try await BrocotClient.connect("postgresql://app@localhost/shop")
/// try await client.place(["milk"], .after("bread"), in: "groceries")
/// let page = try await client.page(of: "groceries")
/// ```
/// Each call uses one connection of a small pool. If all of them are in use, it waits until one is free, for any time: cancel the
/// calling task to give up. A task that is cancelled while a statement runs stops the statement, and its transaction is rolled
/// back. The call then throws a ``BrocotError`` with the code `cancelled`, not a `CancellationError`. During COMMIT, the code is
/// `commitOutcomeUnknown`.
public final class BrocotClient: Sendable {
    let pool: ConnectionPool

    /// Each call blocks a thread, and Dispatch starts at most 255. Some are needed for cancelling calls.
    private static let mostConnections = 200

    private init(_ pool: ConnectionPool) { self.pool = pool }

    /// Connects, and checks that Brocot's schema exists.
    ///
    /// - Parameters:
    ///   - url: A URL (`postgresql://user@host:5432/database`) or libpq's keywords (`host=… dbname=…`). Missing values, and
    ///     all values if `url` is nil, come from libpq's environment (`PGHOST`, …).
    ///   - maximumConnections: The most connections to open, from 1 to 200. They are opened when they are needed. Further calls
    ///     wait for any time until a connection is free. All clients of a process together should have at most 200.
    ///   - answerTimeout: The longest time in which the server may send nothing while a statement runs. After this time, the connection is
    ///     closed. Nil means no limit: then a proxy or pooler that stops answering blocks a call until its task is cancelled. The time must be
    ///     longer than zero, and longer than the longest statement with its waits for locks. Otherwise the server may apply a move after its
    ///     call has failed. So give the role a shorter `statement_timeout`.
    ///   - logger: Logs the server's notices.
    /// - Returns: A client with one open connection.
    /// - Throws: ``BrocotError`` `invalidArgument`, `connectionFailed`, `connectionLost`, `schemaMissing`; `refused` if the
    ///   server refuses to look for the schema; `cancelled`.
    public static func connect(
        _ url: String? = nil, maximumConnections: Int = 8, answerTimeout: Duration? = nil,
        logger: Logger = Logger(label: "brocot")
    ) async throws -> BrocotClient {
        guard (1...mostConnections).contains(maximumConnections) else {
            throw BrocotError(
                .invalidArgument, "a client has from 1 to \(mostConnections) connections, not \(maximumConnections)")
        }
        if let answerTimeout, answerTimeout <= .zero {
            throw BrocotError(.invalidArgument, "an answer timeout is longer than zero, not \(answerTimeout.inSeconds)")
        }
        var parameters = try wrappingErrors { try ConnectionParameters(url: url) }
        parameters.answerTimeout = answerTimeout
        if parameters["application_name"] == nil, parameters["fallback_application_name"] == nil {
            parameters["fallback_application_name"] = "brocot library"
        }
        let pool = ConnectionPool(parameters, limit: maximumConnections, logger: logger)
        let schemaExists = try await pool.perform { connection in
            try connection.transaction(.repeatableReadOnly) { connection throws(PostgresError) in
                try connection.query(LibraryStatements.schemaExists).single().decode(0, as: Bool.self)
            }
        }
        guard schemaExists else {
            await pool.close()
            throw BrocotError(
                .schemaMissing,
                "\(parameters.summary) has no schema brocot. Run brocot migrate up: it creates the schema, or says what to do"
            )
        }
        return BrocotClient(pool)
    }

    /// Closes the connections. A connection in use is closed after its call. Later calls throw `clientClosed`.
    public func close() async {
        await pool.close()
    }

    /// Runs `body` in a transaction at READ COMMITTED. The transaction is committed, or rolled back if `body` throws.
    ///
    /// `body` is synchronous and runs on a thread that may block. So no transaction stays open while the program waits for
    /// anything but the database. Later calls use the same sessions, so settings are made with `SET LOCAL`: what `SET` or a session's
    /// advisory lock changes stays for other callers.
    ///
    /// - Throws: What `body` throws, and ``BrocotError``. Nothing was changed, unless the code is `commitOutcomeUnknown`, or `body` itself
    ///   ran COMMIT.
    @discardableResult
    public func transaction<Value: Sendable>(
        _ body: @Sendable (inout BrocotTransaction) throws -> Value
    ) async throws -> Value {
        try await pool.perform { connection in
            try connection.transaction(.callersReadCommitted) { connection in
                var transaction = BrocotTransaction(connection)
                return try body(&transaction)
            }
        }
    }

    // MARK: One call in a transaction of its own

    /// Places items in a list in a separate transaction: see ``BrocotTransaction/place(_:_:in:from:missing:)``.
    ///
    /// - Throws: ``Rejection`` or ``BrocotError``; nothing was changed, unless its code is `commitOutcomeUnknown`.
    public func place(
        _ items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: (any ItemKey)? = nil,
        missing: MissingItems = .insert
    ) async throws {
        try await apply(Move(placing: items, placement, in: list, from: source, missing: missing))
    }

    /// Removes items from a list in a separate transaction: see ``BrocotTransaction/remove(_:from:)``.
    ///
    /// - Throws: ``Rejection`` or ``BrocotError``; nothing was changed, unless its code is `commitOutcomeUnknown`.
    public func remove(_ items: [some ItemKey], from list: ListIdentifier) async throws {
        try await apply(Move(removing: items, from: list))
    }

    /// The transaction contains nothing else, so it needs no savepoint, and the move takes its locks by itself.
    private func apply(_ move: Move) async throws {
        try MoveRules.check(move)
        try await pool.perform { connection in try LibraryStatements.applyAlone(move, on: connection) }
    }

    /// Moves items by their offsets in a separate transaction: see ``BrocotTransaction/move(fromOffsets:toOffset:in:)``.
    ///
    /// - Throws: ``Rejection`` or ``BrocotError``; nothing was changed, unless its code is `commitOutcomeUnknown`.
    public func move(
        fromOffsets offsets: some Sequence<Int>, toOffset destination: Int, in list: ListIdentifier
    ) async throws {
        let offsets = Array(offsets)
        try await transaction { transaction in
            try transaction.move(fromOffsets: offsets, toOffset: destination, in: list)
        }
    }

    /// Reads a page of a list: see ``BrocotTransaction/page(of:after:limit:)``.
    ///
    /// An item that moves while pages are read can be on two pages or on none. A rebalancing between two pages, which is
    /// rare, can repeat or omit items near the end of the first page.
    ///
    /// - Parameters:
    ///   - list: The list. A list without rows is empty.
    ///   - cursor: The end of the previous page; nil for the first page.
    ///   - limit: The most items of the page, 1 to 10,000.
    /// - Returns: The page.
    /// - Throws: ``Rejection`` `unknownOrderedTable` or `invalidKey`; ``BrocotError``, such as `invalidArgument` for another `limit`.
    public func page(
        of list: ListIdentifier, after cursor: ListCursor? = nil, limit: Int = 100
    ) async throws -> ListPage {
        try await pool.perform { connection in
            try connection.transaction(.repeatableReadOnly) { connection in
                try ListPage.read(list, after: cursor, limit: limit, on: connection)
            }
        }
    }

    // MARK: Through the queue

    /// Enqueues a request in a separate transaction: see
    /// ``BrocotTransaction/enqueuePlace(_:_:in:from:missing:idempotencyKey:)``.
    ///
    /// - Throws: ``BrocotError``; nothing was enqueued, unless its code is `commitOutcomeUnknown`.
    @discardableResult
    public func enqueuePlace(
        _ items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: (any ItemKey)? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await enqueue(Move(placing: items, placement, in: list, from: source, missing: missing), idempotencyKey)
    }

    /// Enqueues a request in a separate transaction: see ``BrocotTransaction/enqueueRemove(_:from:idempotencyKey:)``.
    ///
    /// - Throws: ``BrocotError``; nothing was enqueued, unless its code is `commitOutcomeUnknown`.
    @discardableResult
    public func enqueueRemove(
        _ items: [some ItemKey], from list: ListIdentifier, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await enqueue(Move(removing: items, from: list), idempotencyKey)
    }

    private func enqueue(_ move: Move, _ idempotencyKey: String?) async throws -> Int64 {
        try MoveRules.check(move, idempotencyKey: idempotencyKey)
        return try await pool.perform { connection in
            try connection.transaction(of: LibraryStatements.enqueue(move, idempotencyKey: idempotencyKey)).single()
                .decode(0)
        }
    }

    /// Waits until a request is decided. No connection is in use while it waits: it reads the log every quarter of a second,
    /// and more often at first.
    ///
    /// - Parameters:
    ///   - request: The id that the enqueuing call returned.
    ///   - limit: How long to wait; with `.zero` it reads the log once. Waits for a free connection are not included.
    /// - Returns: The outcome, also of a request that was decided earlier.
    /// - Throws: ``BrocotError`` `stillPending` if the request isn't decided in time; it stays in the queue.
    ///   `unknownRequest` if no such request exists, or its row in the log was deleted; on a standby, to which the request may still be on its way,
    ///   only when the time is over. `cancelled` if the task is cancelled;
    ///   the request stays in the queue then, too. `clientClosed`; `connectionFailed`, `connectionLost` or `refused` if the log
    ///   can't be read.
    public func outcome(of request: Int64, within limit: Duration = .seconds(10)) async throws -> MoveOutcome {
        let deadline = ContinuousClock.now + limit
        var backoff = Backoff(first: .milliseconds(4), longest: .milliseconds(250))
        while true {
            let failure: BrocotError
            switch try await state(of: request) {
            case .decided(let outcome): return outcome
            case .pending:
                failure = BrocotError(
                    .stillPending,
                    """
                    request \(request) is not decided after \(limit.inSeconds); it stays in the queue. If no daemon runs, start one: brocot daemon
                    """)
            case .notOnStandby:
                failure = BrocotError(
                    .unknownRequest,
                    """
                    request \(request) is not on this standby, which may lag behind: ask the primary. Or the request was never committed, or \
                    its log row was pruned
                    """)
            }
            let rest = deadline - ContinuousClock.now
            guard rest > .zero else { throw failure }
            do {
                try await Task.sleep(for: min(backoff.pause(), rest))
            } catch {
                throw BrocotError(.cancelled, "the task was cancelled while it waited for request \(request)")
            }
        }
    }

    private enum RequestState {
        case pending
        case decided(MoveOutcome)
        /// The server is a standby, on which the request may arrive later.
        case notOnStandby
    }

    private func state(of request: Int64) async throws -> RequestState {
        try await pool.perform { connection in
            guard let row = try connection.query(LibraryStatements.outcome(of: request)).first else {
                if try connection.isStandby() { return .notOnStandby }
                throw BrocotError(
                    .unknownRequest, "there is no request \(request): it was never committed, or its log row was pruned"
                )
            }
            return try MoveOutcome(row).map(RequestState.decided) ?? .pending
        }
    }
}

extension MoveOutcome {
    /// Reads a row of ``LibraryStatements/outcome(of:)``; nil if the request is pending.
    fileprivate init?(_ row: Row) throws {
        typealias Column = LibraryStatements.OutcomeColumn
        switch try row.decode(Column.status, as: String.self) {
        case "pending":
            return nil
        case "applied":
            self = .applied(rebalancedRows: Int(try row.decode(Column.rebalancedRows, as: Int32.self)))
        default:
            // A newer daemon may write codes that this library does not know.
            let code = Rejection.Code(rawValue: try row.decode(Column.errorCode)) ?? .failed
            let message = try row.decode(Column.error, as: String?.self)
            self = .rejected(Rejection(code, message ?? "", sqlState: try row.decode(Column.sqlState)))
        }
    }
}
