import LibPQ
import Ordering

/// Some items of a list, in order.
public struct ListPage: Hashable, Sendable {
    /// An item and its place in the list.
    public struct Entry: Hashable, Sendable {
        /// The item's key.
        public let item: String
        /// The cursor of the page that begins after this item.
        public let cursor: ListCursor
    }

    /// The items in order. There are fewer than requested at the end of the list.
    public let entries: [Entry]
    /// The cursor of the next page; nil if this page is the last.
    public let next: ListCursor?

    /// The items' keys.
    public var items: [String] { entries.map(\.item) }

    /// The most entries in a page.
    static let longest = 10_000

    static func read(
        _ list: ListIdentifier, after cursor: ListCursor?, limit: Int, on connection: isolated Connection
    ) throws -> ListPage {
        guard (1...longest).contains(limit) else {
            throw BrocotError(.invalidArgument, "a page has 1 to \(longest) items, not \(limit)")
        }
        let reader = try ListReader.open(list, on: connection).get()
        // One more item than requested shows whether a next page exists.
        let found = try reader.page(after: cursor?.rank, limit: limit + 1, on: connection)
        let entries = found.prefix(limit).map { Entry(item: $0.key, cursor: ListCursor(rank: $0.rank)) }
        return ListPage(entries: entries, next: found.count > limit ? entries.last?.cursor : nil)
    }
}

/// A place in a list: the exact rank of the item that was there. The page after a cursor contains the items after this place.
///
/// The text of a cursor is the rank as a decimal number with up to 38 decimals. Send the cursor to clients as text: a `Double`
/// is not exact enough.
public struct ListCursor: Hashable, Sendable {
    let rank: PostgresNumeric
}

extension ListCursor: LosslessStringConvertible, Codable {
    /// Nil if the text is not a decimal number, or has more than 100 characters.
    public init?(_ text: String) {
        guard text.utf8.count <= 100, let rank = PostgresNumeric(text), rank.isFinite else { return nil }
        self.rank = rank
    }

    /// The rank as a decimal number.
    public var description: String { rank.text }

    /// Decodes the text.
    ///
    /// - Throws: `DecodingError` if the text is not a cursor.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let cursor = ListCursor(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a cursor is a decimal number")
        }
        self = cursor
    }

    /// Encodes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
