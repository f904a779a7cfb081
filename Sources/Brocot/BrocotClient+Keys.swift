import Ordering

/// Items by keys of other types than `String`, and single items.
extension BrocotClient {
    /// Places one item by its key in a list, in a separate transaction. See the method for an array of texts.
    ///
    /// - Throws: ``Rejection`` or ``BrocotError``; nothing was changed, unless its code is `commitOutcomeUnknown`.
    public func place(
        _ item: some ItemKey, _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert
    ) async throws {
        try await place([item.itemKey], placement, in: list, from: source, missing: missing)
    }

    /// Removes one item by its key from a list's order, in a separate transaction. See the method for an array of texts.
    ///
    /// - Throws: ``Rejection`` or ``BrocotError``; nothing was changed, unless its code is `commitOutcomeUnknown`.
    public func remove(_ item: some ItemKey, from list: ListIdentifier) async throws {
        try await remove([item.itemKey], from: list)
    }

    /// Enqueues a request to place one item by its key, in a separate transaction. See the method for an array of texts.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``; nothing was enqueued, unless its code is `commitOutcomeUnknown`.
    public func enqueuePlace(
        _ item: some ItemKey, _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await enqueuePlace(
            [item.itemKey], placement, in: list, from: source, missing: missing, idempotencyKey: idempotencyKey)
    }

    /// Enqueues a request to remove one item by its key, in a separate transaction. See the method for an array of texts.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``; nothing was enqueued, unless its code is `commitOutcomeUnknown`.
    public func enqueueRemove(
        _ item: some ItemKey, from list: ListIdentifier, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await enqueueRemove([item.itemKey], from: list, idempotencyKey: idempotencyKey)
    }

    /// Places items by their keys in a list, in a separate transaction. See the method for an array of texts.
    ///
    /// - Throws: ``Rejection`` or ``BrocotError``; nothing was changed, unless its code is `commitOutcomeUnknown`.
    public func place(
        _ items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert
    ) async throws {
        try await place(items.map(\.itemKey), placement, in: list, from: source, missing: missing)
    }

    /// Removes items by their keys from a list's order, in a separate transaction. See the method for an array of texts.
    ///
    /// - Throws: ``Rejection`` or ``BrocotError``; nothing was changed, unless its code is `commitOutcomeUnknown`.
    public func remove(_ items: [some ItemKey], from list: ListIdentifier) async throws {
        try await remove(items.map(\.itemKey), from: list)
    }

    /// Enqueues a request to place items by their keys, in a separate transaction. See the method for an array of texts.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``; nothing was enqueued, unless its code is `commitOutcomeUnknown`.
    public func enqueuePlace(
        _ items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await enqueuePlace(
            items.map(\.itemKey), placement, in: list, from: source, missing: missing, idempotencyKey: idempotencyKey)
    }

    /// Enqueues a request to remove items by their keys, in a separate transaction. See the method for an array of texts.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``; nothing was enqueued, unless its code is `commitOutcomeUnknown`.
    public func enqueueRemove(
        _ items: [some ItemKey], from list: ListIdentifier, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await enqueueRemove(items.map(\.itemKey), from: list, idempotencyKey: idempotencyKey)
    }
}
