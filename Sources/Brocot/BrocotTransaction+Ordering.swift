import LibPQ
import Ordering

extension BrocotTransaction {
    /// Places items in a list, side by side in the order given.
    ///
    /// - Parameters:
    ///   - items: 1 to 10,000 distinct keys of 1 to 1,024 bytes.
    ///   - placement: where in the list.
    ///   - list: the list that they are in afterwards.
    ///   - source: the list of the same table that the items leave, if they change lists.
    ///   - missing: what becomes of items that the built-in table lacks.
    /// - Throws: ``Rejection``: nothing was changed, and the transaction can go on. ``BrocotError``: where its code is
    ///   `invalidArgument` or `listNotLocked` the transaction can go on as well.
    public mutating func place(
        _ items: [String], _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert
    ) throws {
        try apply(Move(list: list, items: items, action: .place(placement, from: source), missing: missing))
    }

    /// Takes items out of a list's order: those that are there. In a table of the user's the rows stay, without a rank.
    ///
    /// - Throws: as ``place(_:_:in:from:missing:)``.
    public mutating func remove(_ items: [String], from list: ListIdentifier) throws {
        try apply(Move(list: list, items: items, action: .remove))
    }

    /// Moves the items at these offsets, in their present order, before the item that is at `destination` now: as
    /// SwiftUI's `onMove` and `Array.move(fromOffsets:toOffset:)`. A destination beyond the end is the end.
    ///
    /// The offsets count in the list as it is when its lock is got. Where somebody saw an older order, name the items:
    /// see ``Placement/onMove(fromOffsets:toOffset:)``. The list is counted through once, up to the last offset or the
    /// destination, in its index.
    ///
    /// - Parameters:
    ///   - offsets: such as an `IndexSet`; where it is empty, nothing happens.
    ///   - destination: 0 to the number of items.
    ///   - list: the list that is reordered.
    /// - Throws: ``Rejection`` `itemNotFound` where the list is shorter; else as ``place(_:_:in:from:missing:)``.
    public mutating func move(
        fromOffsets offsets: some Sequence<Int>, toOffset destination: Int, in list: ListIdentifier
    ) throws {
        let offsets = Set(offsets).sorted()
        guard let first = offsets.first else { return }
        guard first >= 0, destination >= 0 else {
            throw BrocotError(.invalidArgument, "an offset is counted from 0, and can't be \(min(first, destination))")
        }
        try MoveRules.check(list)
        try hold([list])
        let staying = offsets.reversed().reduce(destination - 1) { before, offset in
            offset == before ? before - 1 : before
        }
        let wanted = staying >= 0 ? offsets + [staying] : offsets
        let items = try reading { connection in
            try ListReader.open(list, on: connection).get().items(atOffsets: wanted, on: connection)
        }
        if let missing = offsets.first(where: { items[$0] == nil }) {
            throw Rejection(.itemNotFound, "there is no item at offset \(missing) of list '\(list.list)'")
        }
        let placement: Placement = staying < 0 ? .first : items[staying].map { .after($0) } ?? .last
        try place(offsets.compactMap { items[$0] }, placement, in: list)
    }

    /// Reads a page of a list, in order. Takes no lock.
    ///
    /// - Parameters:
    ///   - list: a list; one that isn't there is empty.
    ///   - cursor: where the page before ended; nil for the first.
    ///   - limit: the most items, 1 to 10,000.
    /// - Returns: the items that stand there now.
    /// - Throws: ``Rejection`` `unknownOrderedTable` or `invalidKey`; ``BrocotError``.
    public mutating func page(
        of list: ListIdentifier, after cursor: ListCursor? = nil, limit: Int = 100
    ) throws -> ListPage {
        try reading { connection in
            _ = try connection.query("SELECT \(SearchPath.putSystemCatalogFirst)")
            return try ListPage.read(list, after: cursor, limit: limit, on: connection)
        }
    }

    /// Asks the daemon for ``place(_:_:in:from:missing:)``: the request is there when this transaction commits.
    ///
    /// Takes no lock, and goes at any isolation level.
    ///
    /// - Parameters:
    ///   - items: as there.
    ///   - placement: as there.
    ///   - list: as there.
    ///   - source: as there.
    ///   - missing: as there.
    ///   - idempotencyKey: 1 to 1,024 bytes. A second request with the same key is skipped, as long as the first is
    ///     pending or logged.
    /// - Returns: the request's number, or that of the first one with the key.
    /// - Throws: ``BrocotError``.
    public mutating func enqueuePlace(
        _ items: [String], _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueue(
            Move(list: list, items: items, action: .place(placement, from: source), missing: missing), idempotencyKey)
    }

    /// Asks the daemon for ``remove(_:from:)``, as ``enqueuePlace(_:_:in:from:missing:idempotencyKey:)`` does.
    ///
    /// - Returns: the request's number, or that of the first one with the key.
    /// - Throws: ``BrocotError``.
    public mutating func enqueueRemove(
        _ items: [String], from list: ListIdentifier, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueue(Move(list: list, items: items, action: .remove), idempotencyKey)
    }

    // MARK: Inside

    private mutating func apply(_ move: Move) throws {
        try MoveRules.check(move)
        try hold(Set(move.lists))
        try connection.assumeIsolated { connection in try DirectMove.apply(move, on: connection) }
    }

    private func enqueue(_ move: Move, _ idempotencyKey: String?) throws(BrocotError) -> Int64 {
        try MoveRules.check(move)
        if let idempotencyKey { try MoveRules.check(idempotencyKey: idempotencyKey) }
        return try onConnection { connection throws(PostgresError) in
            try connection.query(LibraryStatements.enqueue(move, idempotencyKey: idempotencyKey)).single().decode(0)
        }
    }

    private func reading<Value: Sendable>(_ body: @Sendable (isolated Connection) throws -> Value) throws -> Value {
        try connection.assumeIsolated { connection in try translatingErrors { try body(connection) } }
    }
}

/// Applies one move in a transaction that holds the locks of its lists.
enum DirectMove {
    /// A move that fails is tried so often before that counts as its outcome, as in the queue.
    private static let attempts = 3

    /// - Throws: ``Rejection``, ``BrocotError``; what was written is undone.
    static func apply(_ move: Move, on connection: isolated Connection) throws {
        for attempt in 1...attempts {
            do {
                let outcomes = try connection.savepoint("brocot_move") { connection in
                    try MoveApplication().apply([move], on: connection).outcomes
                }
                if case .rejected(let rejection)? = outcomes.first { throw rejection }
                return
            } catch let error as OrderingError {
                let failureClass = FailureClass(error)
                if failureClass == .staleRows, attempt < attempts { continue }
                guard failureClass != .environment, case .database(let refusal) = error else {
                    throw BrocotError(error)
                }
                throw Rejection(.failed, refusal.message, sqlState: refusal.sqlState?.rawValue)
            } catch let error as PostgresError {
                throw BrocotError(error)
            }
        }
    }
}
