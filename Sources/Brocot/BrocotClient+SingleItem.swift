import Ordering

/// The calls of `BrocotClient.swift` that take items, each for one item.
extension BrocotClient {
    /// Places one item in a list, in a separate transaction. See the method for several items.
    ///
    /// - Throws: ``Rejection`` or ``BrocotError``; nothing was changed, unless its code is `commitOutcomeUnknown`.
    public func place(
        _ item: some ItemKey, _ placement: Placement, in list: ListIdentifier, from source: (any ItemKey)? = nil,
        missing: MissingItems = .insert
    ) async throws {
        try await place([item], placement, in: list, from: source, missing: missing)
    }

    /// Removes one item from a list's order, in a separate transaction. See the method for several items.
    ///
    /// - Throws: ``Rejection`` or ``BrocotError``; nothing was changed, unless its code is `commitOutcomeUnknown`.
    public func remove(_ item: some ItemKey, from list: ListIdentifier) async throws {
        try await remove([item], from: list)
    }

    /// Enqueues a request to place one item, in a separate transaction. See the method for several items.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``; nothing was enqueued, unless its code is `commitOutcomeUnknown`.
    @discardableResult
    public func enqueuePlace(
        _ item: some ItemKey, _ placement: Placement, in list: ListIdentifier, from source: (any ItemKey)? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await enqueuePlace(
            [item], placement, in: list, from: source, missing: missing, idempotencyKey: idempotencyKey)
    }

    /// Enqueues a request to remove one item, in a separate transaction. See the method for several items.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``; nothing was enqueued, unless its code is `commitOutcomeUnknown`.
    @discardableResult
    public func enqueueRemove(
        _ item: some ItemKey, from list: ListIdentifier, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await enqueueRemove([item], from: list, idempotencyKey: idempotencyKey)
    }
}
