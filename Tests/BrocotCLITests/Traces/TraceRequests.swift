/// The move requests that repeat a recording: an item for each inserted character, a removal for each deleted one.
struct TraceRequests {
    enum Manner: String, CaseIterable {
        /// `first`, or `after` the character before.
        case anchors
        /// `at` the position.
        case positions
    }

    struct Request {
        let item: String
        let placement: String
        let anchor: String?
        let position: Int?
    }

    private(set) var requests: [Request] = []
    /// The character of each item.
    private(set) var characters: [String: Character] = [:]
    private(set) var insertions = 0

    init(_ trace: Trace, _ manner: Manner) {
        var items: [String] = []
        for patch in trace.patches {
            for item in items[patch.position..<(patch.position + patch.deleted)] {
                requests.append(Request(item: item, placement: "remove", anchor: nil, position: nil))
            }
            items.removeSubrange(patch.position..<(patch.position + patch.deleted))
            var inserted: [String] = []
            for (offset, character) in patch.inserted.enumerated() {
                let item = "c\(characters.count)"
                characters[item] = character
                let position = patch.position + offset
                let before = inserted.last ?? (position > 0 ? items[position - 1] : nil)
                switch (manner, before) {
                case (.positions, _):
                    requests.append(Request(item: item, placement: "at", anchor: nil, position: position))
                case (.anchors, nil):
                    requests.append(Request(item: item, placement: "first", anchor: nil, position: nil))
                case (.anchors, let before?):
                    requests.append(Request(item: item, placement: "after", anchor: before, position: nil))
                }
                inserted.append(item)
            }
            items.insert(contentsOf: inserted, at: patch.position)
        }
        insertions = characters.count
    }
}
