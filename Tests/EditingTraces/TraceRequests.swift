/// The move requests that repeat a recording: an item for each inserted character, a removal for each deleted one.
package struct TraceRequests {
    package enum Manner: String, CaseIterable, Sendable {
        /// One request for each character: `first`, or `after` the previous character.
        case anchors
        /// One request for all that was inserted at once.
        case blocks
        /// One request for each character, `at` its position.
        case positions
    }

    package struct Request: Sendable {
        /// Separated by commas.
        package let items: String
        package let placement: String
        package let anchor: String?
        package let position: Int?
    }

    /// As many items as one request may have.
    private static let largestBlock = 10_000

    private let manner: Manner
    package private(set) var requests: [Request] = []
    /// The character of each item.
    package private(set) var characters: [String: Unicode.Scalar] = [:]
    private var items: [String] = []

    package var insertions: Int { characters.count }

    package init(_ trace: Trace, _ manner: Manner) {
        self.manner = manner
        for patch in trace.patches {
            delete(patch.position..<(patch.position + patch.deleted))
            insert(patch.inserted, at: patch.position)
        }
    }

    private mutating func delete(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        let size = manner == .blocks ? Self.largestBlock : 1
        for start in stride(from: range.lowerBound, to: range.upperBound, by: size) {
            let block = items[start..<min(start + size, range.upperBound)].joined(separator: ",")
            requests.append(Request(items: block, placement: "remove", anchor: nil, position: nil))
        }
        items.removeSubrange(range)
    }

    private mutating func insert(_ inserted: String.UnicodeScalarView, at start: Int) {
        var added: [String] = []
        for character in inserted {
            added.append("c\(characters.count)")
            characters[added[added.count - 1]] = character
        }
        var (position, before) = (start, start > 0 ? items[start - 1] : nil)
        let size = manner == .blocks ? Self.largestBlock : 1
        for first in stride(from: 0, to: added.count, by: size) {
            let block = added[first..<min(first + size, added.count)]
            let (joined, isAt) = (block.joined(separator: ","), manner == .positions)
            requests.append(
                Request(
                    items: joined, placement: isAt ? "at" : before == nil ? "first" : "after",
                    anchor: isAt ? nil : before, position: isAt ? position : nil))
            (position, before) = (position + block.count, block.last)
        }
        items.insert(contentsOf: added, at: start)
    }
}
