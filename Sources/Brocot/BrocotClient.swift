import LibPQ
import Logging
import Ordering

/// A server's way to ordered lists: changes their order at once, or asks the daemon to, and reads them.
///
/// ```swift
/// let client = try await BrocotClient.connect("postgresql://app@localhost/shop")
/// try await client.place(["milk"], .after("bread"), in: "groceries")
/// let page = try await client.page(of: "groceries")
/// ```
/// Each call takes one of a few connections, and waits where all are in use. If its task is cancelled, the running
/// statement stops, and its transaction is rolled back.
public final class BrocotClient: Sendable {
    let pool: ConnectionPool

    private init(_ pool: ConnectionPool) { self.pool = pool }

    /// Connects, and looks whether Brocot's schema is there.
    ///
    /// - Parameters:
    ///   - url: a URL (`postgresql://user@host:5432/database`) or libpq's keywords (`host=… dbname=…`). What it leaves
    ///     out, and everything if it is nil, comes from libpq's environment (`PGHOST`, …).
    ///   - maximumConnections: at most so many are opened, as they are needed.
    ///   - logger: takes the server's notices.
    /// - Returns: a client with one open connection.
    /// - Throws: ``BrocotError`` `invalidArgument`, `connectionFailed`, `schemaMissing`.
    public static func connect(
        _ url: String? = nil, maximumConnections: Int = 8, logger: Logger = Logger(label: "brocot")
    ) async throws -> BrocotClient {
        guard maximumConnections >= 1 else {
            throw BrocotError(.invalidArgument, "a client needs at least 1 connection, not \(maximumConnections)")
        }
        let parameters = try translatingErrors { try ConnectionParameters(url: url) }
        let pool = ConnectionPool(parameters, limit: maximumConnections, logger: logger)
        let isSchemaThere = try await pool.perform { connection in
            try connection.transaction(.repeatableReadOnly) { connection throws(PostgresError) in
                try connection.query(LibraryStatements.isSchemaThere).single().decode(0, as: Bool.self)
            }
        }
        guard isSchemaThere else {
            await pool.close()
            throw BrocotError(
                .schemaMissing, "\(parameters.summary) has no schema brocot; create it with `brocot migrate up`")
        }
        return BrocotClient(pool)
    }

    /// Closes the connections: those in use after their calls. Later calls throw `clientClosed`.
    public func close() async {
        await pool.close()
    }

    /// Runs `body` in a transaction at READ COMMITTED: commits it, or rolls it back where `body` throws.
    ///
    /// `body` runs to its end without suspension, on a thread that may wait, so that no transaction stays open for
    /// anything but the database.
    ///
    /// - Throws: what `body` throws. ``BrocotError``: unless its code is `commitOutcomeUnknown`, nothing was done.
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

    /// As ``BrocotTransaction/place(_:_:in:from:missing:)``, in a transaction of its own.
    public func place(
        _ items: [String], _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert
    ) async throws {
        try await transaction { transaction in
            try transaction.place(items, placement, in: list, from: source, missing: missing)
        }
    }

    /// As ``BrocotTransaction/remove(_:from:)``, in a transaction of its own.
    public func remove(_ items: [String], from list: ListIdentifier) async throws {
        try await transaction { transaction in try transaction.remove(items, from: list) }
    }

    /// As ``BrocotTransaction/move(fromOffsets:toOffset:in:)``, in a transaction of its own.
    public func move(
        fromOffsets offsets: some Sequence<Int>, toOffset destination: Int, in list: ListIdentifier
    ) async throws {
        let offsets = Array(offsets)
        try await transaction { transaction in
            try transaction.move(fromOffsets: offsets, toOffset: destination, in: list)
        }
    }

    /// As ``BrocotTransaction/page(of:after:limit:)``.
    ///
    /// An item that moves between two pages is on the one where it stands then; and a rebalancing in between, which is
    /// rare, can repeat or leave out neighbours of the place where a page ended.
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

    /// As ``BrocotTransaction/enqueuePlace(_:_:in:from:missing:idempotencyKey:)``, in a transaction of its own.
    public func enqueuePlace(
        _ items: [String], _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await transaction { transaction in
            try transaction.enqueuePlace(
                items, placement, in: list, from: source, missing: missing, idempotencyKey: idempotencyKey)
        }
    }

    /// As ``BrocotTransaction/enqueueRemove(_:from:idempotencyKey:)``, in a transaction of its own.
    public func enqueueRemove(
        _ items: [String], from list: ListIdentifier, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await transaction { transaction in
            try transaction.enqueueRemove(items, from: list, idempotencyKey: idempotencyKey)
        }
    }

    /// Waits until a request is decided. No connection is held meanwhile: the log is looked at every quarter of a
    /// second, and more often at first.
    ///
    /// - Parameters:
    ///   - request: the number that enqueuing returned.
    ///   - limit: how long to wait; `.zero` looks once.
    /// - Returns: what became of it, also if it was decided long ago.
    /// - Throws: ``BrocotError`` `stillPending` when the time is over: the request stays in the queue. `unknownRequest`
    ///   where there is none, or its log row was pruned.
    public func outcome(of request: Int64, within limit: Duration = .seconds(10)) async throws -> MoveOutcome {
        let deadline = ContinuousClock.now + limit
        var backoff = Backoff(first: .milliseconds(4), longest: .milliseconds(250))
        while true {
            if let outcome = try await decidedOutcome(of: request) { return outcome }
            let rest = deadline - ContinuousClock.now
            guard rest > .zero else {
                throw BrocotError(
                    .stillPending, "request \(request) is not decided after \(limit); does a daemon run?")
            }
            do {
                try await Task.sleep(for: min(backoff.pause(), rest))
            } catch {
                throw BrocotError(.cancelled, "the task was cancelled while it waited for request \(request)")
            }
        }
    }

    /// Nil while the request is pending.
    private func decidedOutcome(of request: Int64) async throws -> MoveOutcome? {
        let rows = try await pool.perform { connection in
            try connection.query(LibraryStatements.outcome(of: request))
        }
        guard let row = rows.first else {
            throw BrocotError(
                .unknownRequest, "there is no request \(request): it was never committed, or its log row was pruned")
        }
        return try translatingErrors { try MoveOutcome(row) }
    }
}

extension MoveOutcome {
    /// From the columns of ``LibraryStatements/outcome(of:)``; nil: pending.
    fileprivate init?(_ row: Row) throws {
        switch try row.decode(0, as: String.self) {
        case "pending":
            return nil
        case "applied":
            self = .applied(rebalancedRows: Int(try row.decode(4, as: Int32.self)))
        default:
            // A newer daemon may know more codes.
            let code = Rejection.Code(rawValue: try row.decode(1)) ?? .failed
            let message = try row.decode(2, as: String?.self)
            self = .rejected(Rejection(code, message ?? "", sqlState: try row.decode(3)))
        }
    }
}
