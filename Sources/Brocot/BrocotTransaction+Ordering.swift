import LibPQ
import Ordering

extension BrocotTransaction {
    /// Places items in a list, next to each other and in the given order.
    ///
    /// - Parameters:
    ///   - items: 1 to 10,000 distinct keys of 1 to 1,024 bytes: texts, numbers or UUIDs.
    ///   - placement: The place in the list.
    ///   - list: The list that contains the items afterwards.
    ///   - source: The key of the list of the same table that the items leave; nil if they don't change lists.
    ///   - missing: What happens to items that the list does not contain.
    /// - Throws: ``Rejection``: nothing was changed, and the transaction can continue. ``BrocotError``: with the codes
    ///   `invalidArgument` and `listNotLocked` the transaction can continue too.
    public mutating func place(
        _ items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: (any ItemKey)? = nil,
        missing: MissingItems = .insert
    ) throws {
        try apply(Move(placing: items, placement, in: list, from: source, missing: missing))
    }

    /// Removes items from a list's order. Items that aren't in the list are ignored. In a table of yours, the rows stay and
    /// lose their rank, unless the table was attached with `--owns-rows`.
    ///
    /// - Throws: ``Rejection``: nothing was changed, and the transaction can continue. ``BrocotError``: with the codes
    ///   `invalidArgument` and `listNotLocked` the transaction can continue too.
    public mutating func remove(_ items: [some ItemKey], from list: ListIdentifier) throws {
        try apply(Move(removing: items, from: list))
    }

    /// Moves the items at some offsets, in their present order, before the item that is now at `destination`. The meaning is
    /// that of SwiftUI's `onMove` and `Array.move(fromOffsets:toOffset:)`. A destination beyond the end means the end.
    ///
    /// The offsets refer to the order at the moment when this call gets the list's lock. If a person chose the offsets in an
    /// older order, move the items by their keys instead: see ``Placement/onMove(fromOffsets:toOffset:)``. The call reads the
    /// list's index once, up to the last offset or the destination. The rest of the transaction searches `pg_catalog` first, even if the session's
    /// `search_path` names it after another schema.
    ///
    /// - Parameters:
    ///   - offsets: The offsets, such as an `IndexSet`; nothing happens if it is empty.
    ///   - destination: 0 to the number of items.
    ///   - list: The list to reorder.
    /// - Throws: ``Rejection``, with the code `itemNotFound` if the list is shorter than an offset; ``BrocotError``. With the
    ///   codes `invalidArgument` and `listNotLocked` the transaction can continue.
    public mutating func move(
        fromOffsets offsets: some Sequence<Int>, toOffset destination: Int, in list: ListIdentifier
    ) throws {
        let offsets = Set(offsets).sorted()
        guard let first = offsets.first else { return }
        guard first >= 0, destination >= 0 else {
            throw BrocotError(.invalidArgument, "an offset is counted from 0, and can't be \(min(first, destination))")
        }
        try MoveRules.check(list)
        try takeLocks(of: [list])
        let staying = Self.lastStaying(before: destination, moving: Set(offsets))
        let wanted = staying >= 0 ? offsets + [staying] : offsets
        let items = try reading { connection in
            _ = try connection.query("SELECT \(SearchPath.putSystemCatalogFirst)")
            return try ListReader.open(list, on: connection).get().items(atOffsets: wanted, on: connection)
        }
        if let missing = offsets.first(where: { items[$0] == nil }) {
            throw Rejection(.itemNotFound, "there is no item at offset \(missing) of list '\(list.key)'")
        }
        let placement: Placement = staying < 0 ? .first : items[staying].map { .after($0) } ?? .last
        try place(offsets.compactMap { items[$0] }, placement, in: list)
    }

    /// Reads a page of a list, in order. It takes no lock. The rest of the transaction searches `pg_catalog` first, even if the session's
    /// `search_path` names it after another schema.
    ///
    /// - Parameters:
    ///   - list: The list. A list without rows is empty.
    ///   - cursor: The end of the previous page; nil for the first page.
    ///   - limit: The most items of the page, 1 to 10,000.
    /// - Returns: The page.
    /// - Throws: ``Rejection`` `unknownOrderedTable` or `invalidKey`; ``BrocotError``, such as `invalidArgument` for another `limit`.
    public mutating func page(
        of list: ListIdentifier, after cursor: ListCursor? = nil, limit: Int = 100
    ) throws -> ListPage {
        try reading { connection in
            _ = try connection.query("SELECT \(SearchPath.putSystemCatalogFirst)")
            return try ListPage.read(list, after: cursor, limit: limit, on: connection)
        }
    }

    /// Enqueues a request to place items. The daemon applies it after this transaction has committed.
    ///
    /// The call takes no lock, and works at any isolation level. With an idempotency key, it waits for an open transaction that enqueued with the
    /// same key.
    ///
    /// - Parameters:
    ///   - items: 1 to 10,000 distinct keys of 1 to 1,024 bytes: texts, numbers or UUIDs.
    ///   - placement: The place in the list.
    ///   - list: The list that contains the items afterwards.
    ///   - source: The key of the list of the same table that the items leave; nil if they don't change lists.
    ///   - missing: What happens to items that the list does not contain.
    ///   - idempotencyKey: 1 to 1,024 bytes. A second request with the same key is skipped as long as the first is pending or
    ///     logged.
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``.
    @discardableResult
    public mutating func enqueuePlace(
        _ items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: (any ItemKey)? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueue(Move(placing: items, placement, in: list, from: source, missing: missing), idempotencyKey)
    }

    /// Enqueues a request to remove items: see ``remove(_:from:)`` and
    /// ``enqueuePlace(_:_:in:from:missing:idempotencyKey:)``.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``.
    @discardableResult
    public mutating func enqueueRemove(
        _ items: [some ItemKey], from list: ListIdentifier, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueue(Move(removing: items, from: list), idempotencyKey)
    }

    // MARK: Offsets of items

    /// The offset of the last item before the destination that does not move itself; -1 if there is none.
    private static func lastStaying(before destination: Int, moving: Set<Int>) -> Int {
        var offset = destination - 1
        while moving.contains(offset) { offset -= 1 }
        return offset
    }

    private mutating func apply(_ move: Move) throws {
        try MoveRules.check(move)
        try takeLocks(of: Set(move.lists))
        try connection.assumeIsolated { connection in try LibraryStatements.apply(move, on: connection) }
    }

    private func enqueue(_ move: Move, _ idempotencyKey: String?) throws(BrocotError) -> Int64 {
        try MoveRules.check(move, idempotencyKey: idempotencyKey)
        return try onConnection { connection throws(PostgresError) in
            try connection.query(LibraryStatements.enqueue(move, idempotencyKey: idempotencyKey)).single().decode(0)
        }
    }

    private func reading<Value: Sendable>(_ body: @Sendable (isolated Connection) throws -> Value) throws -> Value {
        try requireTransaction()
        return try connection.assumeIsolated { connection in try wrappingErrors { try body(connection) } }
    }
}
