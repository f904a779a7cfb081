import Ordering

/// Items by keys of other types than `String`, and single items.
extension BrocotTransaction {
    /// As the method of this name for an array of texts, for a single item.
    public mutating func place(
        _ item: some ItemKey, _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert
    ) throws {
        try place([item.itemKey], placement, in: list, from: source, missing: missing)
    }

    /// As the method of this name for an array of texts, for a single item.
    public mutating func remove(_ item: some ItemKey, from list: ListIdentifier) throws {
        try remove([item.itemKey], from: list)
    }

    /// As the method of this name for an array of texts, for a single item.
    public mutating func enqueuePlace(
        _ item: some ItemKey, _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueuePlace(
            [item.itemKey], placement, in: list, from: source, missing: missing, idempotencyKey: idempotencyKey)
    }

    /// As the method of this name for an array of texts, for a single item.
    public mutating func enqueueRemove(
        _ item: some ItemKey, from list: ListIdentifier, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueueRemove([item.itemKey], from: list, idempotencyKey: idempotencyKey)
    }

    /// As the method of this name for an array of texts, for items by their keys.
    public mutating func place(
        _ items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert
    ) throws {
        try place(items.map(\.itemKey), placement, in: list, from: source, missing: missing)
    }

    /// As the method of this name for an array of texts, for items by their keys.
    public mutating func remove(_ items: [some ItemKey], from list: ListIdentifier) throws {
        try remove(items.map(\.itemKey), from: list)
    }

    /// As the method of this name for an array of texts, for items by their keys.
    public mutating func enqueuePlace(
        _ items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueuePlace(
            items.map(\.itemKey), placement, in: list, from: source, missing: missing, idempotencyKey: idempotencyKey)
    }

    /// As the method of this name for an array of texts, for items by their keys.
    public mutating func enqueueRemove(
        _ items: [some ItemKey], from list: ListIdentifier, idempotencyKey: String? = nil
    ) throws(BrocotError) -> Int64 {
        try enqueueRemove(items.map(\.itemKey), from: list, idempotencyKey: idempotencyKey)
    }
}
