import Ordering

/// Items by keys of other types than `String`, and single items.
extension BrocotClient {
    /// As the method of this name for an array of texts, for a single item.
    public func place(
        _ item: some ItemKey, _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert
    ) async throws {
        try await place([item.itemKey], placement, in: list, from: source, missing: missing)
    }

    /// As the method of this name for an array of texts, for a single item.
    public func remove(_ item: some ItemKey, from list: ListIdentifier) async throws {
        try await remove([item.itemKey], from: list)
    }

    /// As the method of this name for an array of texts, for a single item.
    public func enqueuePlace(
        _ item: some ItemKey, _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await enqueuePlace(
            [item.itemKey], placement, in: list, from: source, missing: missing, idempotencyKey: idempotencyKey)
    }

    /// As the method of this name for an array of texts, for a single item.
    public func enqueueRemove(
        _ item: some ItemKey, from list: ListIdentifier, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await enqueueRemove([item.itemKey], from: list, idempotencyKey: idempotencyKey)
    }

    /// As the method of this name for an array of texts, for items by their keys.
    public func place(
        _ items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert
    ) async throws {
        try await place(items.map(\.itemKey), placement, in: list, from: source, missing: missing)
    }

    /// As the method of this name for an array of texts, for items by their keys.
    public func remove(_ items: [some ItemKey], from list: ListIdentifier) async throws {
        try await remove(items.map(\.itemKey), from: list)
    }

    /// As the method of this name for an array of texts, for items by their keys.
    public func enqueuePlace(
        _ items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: String? = nil,
        missing: MissingItems = .insert, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await enqueuePlace(
            items.map(\.itemKey), placement, in: list, from: source, missing: missing, idempotencyKey: idempotencyKey)
    }

    /// As the method of this name for an array of texts, for items by their keys.
    public func enqueueRemove(
        _ items: [some ItemKey], from list: ListIdentifier, idempotencyKey: String? = nil
    ) async throws -> Int64 {
        try await enqueueRemove(items.map(\.itemKey), from: list, idempotencyKey: idempotencyKey)
    }
}
