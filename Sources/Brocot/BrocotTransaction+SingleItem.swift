import Ordering

/// The calls of `BrocotTransaction+Ordering.swift` that take items, each for one item.
extension BrocotTransaction {
    /// Places one item in a list. See the method for several items.
    ///
    /// - Throws: ``Rejection``: nothing was changed, and the transaction can continue. ``BrocotError``: with the codes
    ///   `invalidArgument` and `listNotLocked` the transaction can continue too.
    public mutating func place(
        _ item: some ItemKey, _ placement: Placement, in list: ListIdentifier, from source: (any ItemKey)? = nil,
        missing: MissingItems = .insert
    ) throws {
        try place([item], placement, in: list, from: source, missing: missing)
    }

    /// Removes one item from a list's order. See the method for several items.
    ///
    /// - Throws: ``Rejection``: nothing was changed, and the transaction can continue. ``BrocotError``: with the codes
    ///   `invalidArgument` and `listNotLocked` the transaction can continue too.
    public mutating func remove(_ item: some ItemKey, from list: ListIdentifier) throws {
        try remove([item], from: list)
    }

    /// Enqueues a request to place one item. See the method for several items.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``.
    @discardableResult
    public mutating func enqueuePlace(
        _ item: some ItemKey, _ placement: Placement, in list: ListIdentifier, from source: (any ItemKey)? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueuePlace(
            [item], placement, in: list, from: source, missing: missing, idempotencyKey: idempotencyKey)
    }

    /// Enqueues a request to remove one item. See the method for several items.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``.
    @discardableResult
    public mutating func enqueueRemove(
        _ item: some ItemKey, from list: ListIdentifier, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueueRemove([item], from: list, idempotencyKey: idempotencyKey)
    }
}
