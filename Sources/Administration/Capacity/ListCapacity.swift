import SternBrocot

/// How much room a list has, found from its ranks one by one in their order. It keeps a few of them only.
package struct ListCapacity: Sendable {
    /// An item and its rank.
    package struct Item: Hashable, Sendable {
        package let key: String
        package let rank: Rank

        /// The greater of |numerator| and denominator.
        package var greatestTerm: Int64 { rank.greatestTerm }

        /// The bits of the greatest term, of which a rank has ``ListCapacity/termBits``.
        package var bits: Int { Int64.bitWidth - greatestTerm.leadingZeroBitCount }
    }

    /// What is between two neighbours.
    package struct Gap: Hashable, Sendable {
        /// nil at the beginning of the list.
        package let lower: Item?
        /// nil at the end of the list.
        package let upper: Item?
        /// The inserts that are certain to fit: see `Rank.insertsLeft(between:and:limit:ceiling:)`.
        package let insertsLeft: Int
    }

    /// A row whose rank can't be used.
    package struct Fault: Hashable, Sendable {
        package enum Reason: Hashable, Sendable {
            /// The fraction is not in lowest terms, or has a term out of bounds.
            case invalidRank
            /// The sort key puts the row after this item, whose rank is not less.
            case outOfOrder(after: Item)
        }

        package let key: String
        package let numerator: Int64
        package let denominator: Int64
        package let reason: Reason
    }

    /// The bits of the greatest term that is possible.
    package static let termBits = Int64.bitWidth - (Rank.limit - 1).leadingZeroBitCount
    /// So many faults are kept; all are counted.
    package static let faultLimit = 10

    /// The placed items, faulty ones included.
    package private(set) var itemCount = 0
    /// The first of the items with the greatest term; nil where there is no item.
    package private(set) var largest: Item?
    /// The first faults, at most ``faultLimit``.
    package private(set) var faults: [Fault] = []
    package private(set) var faultCount = 0
    private var last: Item?
    private var tightest: Gap?

    package init() {}

    /// The first of the gaps with the fewest inserts left, the two ends of the list included; nil where there is no item.
    package var tightestGap: Gap? {
        guard let last else { return nil }
        var complete = self
        complete.regard(last, nil)
        return complete.tightest
    }

    /// Adds the next row in the order of the sort key.
    package mutating func append(key: String, numerator: Int64, denominator: Int64) {
        itemCount += 1
        guard let rank = Rank(numerator: numerator, denominator: denominator) else {
            return add(Fault(key: key, numerator: numerator, denominator: denominator, reason: .invalidRank))
        }
        if let last, rank <= last.rank {
            return add(
                Fault(key: key, numerator: numerator, denominator: denominator, reason: .outOfOrder(after: last)))
        }
        let item = Item(key: key, rank: rank)
        regard(last, item)
        if item.greatestTerm > largest?.greatestTerm ?? 0 { largest = item }
        last = item
    }

    private mutating func regard(_ lower: Item?, _ upper: Item?) {
        let known = tightest?.insertsLeft ?? .max
        let insertsLeft = Rank.insertsLeft(between: lower?.rank, and: upper?.rank, ceiling: known)
        if insertsLeft < known { tightest = Gap(lower: lower, upper: upper, insertsLeft: insertsLeft) }
    }

    private mutating func add(_ fault: Fault) {
        faultCount += 1
        if faults.count < Self.faultLimit { faults.append(fault) }
    }
}
