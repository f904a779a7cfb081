import Ordering

/// The names of the objects that `brocot attach` creates for an order.
extension OrderNames {
    /// The rank columns with their types.
    var typedRankColumns: [(name: String, type: String)] {
        zip(rankColumns, OrderObjects.rankColumnTypes).map { (name: $0, type: $1) }
    }

    /// The CHECK that makes sure that the rank columns agree.
    var constraint: String { Self.bounded("brocot_\(rank)_is_valid") }

    /// The unique index on list and rank of the table itself, or of one of its partitions.
    func index(on relation: String) -> String { Self.bounded("\(Self.indexPrefix)\(relation)_\(rank)") }

    /// The end that REINDEX CONCURRENTLY adds to the name of its new index, or of the former one, as a regular expression.
    static let endOfReindexed = "_cc(new|old)[0-9]*$"

    /// Whether an index of this order has the name that only REINDEX CONCURRENTLY gives.
    func isReindexed(_ index: String) -> Bool {
        guard !index.hasSuffix("_\(rank)") else { return false }
        let withoutNumber = String(index.reversed().drop { ("0"..."9").contains($0) }.reversed())
        return withoutNumber.hasSuffix("_ccnew") || withoutNumber.hasSuffix("_ccold")
    }

    /// After an INSERT: requests places for the new rows.
    var insertTrigger: String { trigger("arrive") }
    /// Before an INSERT, if a column gets numbers of a sequence: draws the id of the request.
    var drawTrigger: String { trigger("draw") }
    /// Before an UPDATE of the rank columns by others: keeps the old rank, or removes the rank if the list changes too.
    var keepTrigger: String { trigger("keep") }
    /// Before an UPDATE by others that changes the list: removes the rank.
    var leaveTrigger: String { trigger("leave") }
    /// At an UPDATE that changes the list: requests a place in the new list.
    var requestTrigger: String { trigger("request") }
    // These triggers place rows at once. Their names sort before the names above, so they fire first. The triggers
    // above request places for all other rows.
    /// After an INSERT, with `--arrive-now`: places the new rows.
    var insertNowTrigger: String { trigger("add_now") }
    /// After an UPDATE that changed the list, with `--arrive-now`: places the row.
    var changeNowTrigger: String { trigger("carry_now") }

    var triggers: [String] {
        [insertTrigger, drawTrigger, keepTrigger, leaveTrigger, requestTrigger, insertNowTrigger, changeNowTrigger]
    }

    /// The names that earlier versions gave to this order's triggers, as far as they differ.
    var formerTriggers: [String] {
        ["arrive", "keep", "change", "add_now", "carry_now"].map { Self.bounded("\(Self.triggerPrefix)\(rank)_\($0)") }
            .filter { !triggers.contains($0) }
    }

    /// A long name of a rank column is shortened to the same text for all triggers, so that their order stays.
    private func trigger(_ purpose: String) -> String {
        "\(Self.bounded("\(Self.triggerPrefix)\(rank)", to: Self.lengthLimit - "_carry_now".utf8.count))_\(purpose)"
    }

    /// The triggers' functions, in schema `brocot`.
    var arriveFunction: String { Self.bounded("arrive_\(orderedTable)") }
    var drawFunction: String { Self.bounded("draw_\(orderedTable)") }
    var keepFunction: String { Self.bounded("keep_\(orderedTable)") }
    var placeFunction: String { Self.bounded("place_\(orderedTable)") }
    var leaveFunction: String { Self.bounded("leave_\(orderedTable)") }
    var functions: [String] { [arriveFunction, drawFunction, keepFunction, leaveFunction, placeFunction] }

    /// The setting of a transaction that says that new rows of this order have been placed.
    var placedSetting: String { "brocot.placed_\(Self.hash(orderedTable))" }

    /// Shortens a name that is too long. It then ends with a hash of the whole name, so that long names with the same
    /// beginning differ.
    static func bounded(_ name: String, to limit: Int = lengthLimit) -> String {
        guard name.utf8.count > limit else { return name }
        let suffix = "_\(hash(name))"
        var beginning = ""
        for character in name {
            guard beginning.utf8.count + String(character).utf8.count + suffix.utf8.count <= limit else { break }
            beginning.append(character)
        }
        return beginning + suffix
    }

    /// The FNV-1a hash of a name, in hexadecimal digits.
    private static func hash(_ name: String) -> String {
        let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
