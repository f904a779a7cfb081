import Ordering

/// Items by keys of other types than `String`, and single items.
extension BrocotTransaction {
    /// Places one item by its key in a list. See the method for an array of texts.
    ///
    /// - Throws: ``Rejection``: nothing was changed, and the transaction can continue. ``BrocotError``: with the codes
    ///   `invalidArgument` and `listNotLocked` the transaction can continue too.
    public mutating func place(
        _ item: some ItemKey, _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert
    ) throws {
        try place([item.itemKey], placement, in: list, from: source, missing: missing)
    }

    /// Removes one item by its key from a list's order. See the method for an array of texts.
    ///
    /// - Throws: ``Rejection``: nothing was changed, and the transaction can continue. ``BrocotError``: with the codes
    ///   `invalidArgument` and `listNotLocked` the transaction can continue too.
    public mutating func remove(_ item: some ItemKey, from list: ListIdentifier) throws {
        try remove([item.itemKey], from: list)
    }

    /// Enqueues a request to place one item by its key. See the method for an array of texts.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``.
    public mutating func enqueuePlace(
        _ item: some ItemKey, _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueuePlace(
            [item.itemKey], placement, in: list, from: source, missing: missing, idempotencyKey: idempotencyKey)
    }

    /// Enqueues a request to remove one item by its key. See the method for an array of texts.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``.
    public mutating func enqueueRemove(
        _ item: some ItemKey, from list: ListIdentifier, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueueRemove([item.itemKey], from: list, idempotencyKey: idempotencyKey)
    }

    /// Places items by their keys in a list. See the method for an array of texts.
    ///
    /// - Throws: ``Rejection``: nothing was changed, and the transaction can continue. ``BrocotError``: with the codes
    ///   `invalidArgument` and `listNotLocked` the transaction can continue too.
    public mutating func place(
        _ items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert
    ) throws {
        try place(items.map(\.itemKey), placement, in: list, from: source, missing: missing)
    }

    /// Removes items by their keys from a list's order. See the method for an array of texts.
    ///
    /// - Throws: ``Rejection``: nothing was changed, and the transaction can continue. ``BrocotError``: with the codes
    ///   `invalidArgument` and `listNotLocked` the transaction can continue too.
    public mutating func remove(_ items: [some ItemKey], from list: ListIdentifier) throws {
        try remove(items.map(\.itemKey), from: list)
    }

    /// Enqueues a request to place items by their keys. See the method for an array of texts.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``.
    public mutating func enqueuePlace(
        _ items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueuePlace(
            items.map(\.itemKey), placement, in: list, from: source, missing: missing, idempotencyKey: idempotencyKey)
    }

    /// Enqueues a request to remove items by their keys. See the method for an array of texts.
    ///
    /// - Returns: The request's id; for a skipped request, the id of the first request with the key.
    /// - Throws: ``BrocotError``.
    public mutating func enqueueRemove(
        _ items: [some ItemKey], from list: ListIdentifier, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueueRemove(items.map(\.itemKey), from: list, idempotencyKey: idempotencyKey)
    }
}
