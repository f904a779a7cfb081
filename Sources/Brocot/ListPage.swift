import LibPQ
import Ordering

/// Some items of a list, in order.
public struct ListPage: Hashable, Sendable {
    /// An item with its place.
    public struct Entry: Hashable, Sendable {
        /// The item's key.
        public let item: String
        /// For the page that begins after this item.
        public let cursor: ListCursor
    }

    /// In order; fewer than were asked for where the list ends.
    public let entries: [Entry]
    /// Where the next page begins; nil where the list ended with this one.
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
        // One more tells whether there is a next page.
        let found = try reader.items(after: cursor?.rank, limit: limit + 1, on: connection)
        let entries = found.prefix(limit).map { Entry(item: $0.key, cursor: ListCursor(rank: $0.rank)) }
        return ListPage(entries: entries, next: found.count > limit ? entries.last?.cursor : nil)
    }
}

/// A place in a list: the exact rank of the item that stood there. A page after it has the items that come later.
///
/// As text it is the rank, with up to 38 decimals; send it to a client as that. A `Double` loses the place.
public struct ListCursor: Hashable, Sendable {
    let rank: PostgresNumeric
}

extension ListCursor: LosslessStringConvertible, Codable {
    /// Nil where the text is no decimal number of at most 100 characters.
    public init?(_ text: String) {
        guard text.utf8.count <= 100, let rank = PostgresNumeric(text), text != "NaN" else { return nil }
        self.rank = rank
    }

    /// The rank in decimal.
    public var description: String { rank.text }

    /// Reads the text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let cursor = ListCursor(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a cursor is a decimal number")
        }
        self = cursor
    }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
