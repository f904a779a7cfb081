import SternBrocot

/// How much room a list has. The ranks are added one by one, in their order, and only a few of them are kept.
package struct ListCapacity: Sendable {
    /// An item and its rank.
    package struct Item: Hashable, Sendable {
        package let key: String
        package let rank: Rank

        /// The greater of |numerator| and denominator.
        package var greaterTerm: Int64 { rank.greaterTerm }

        /// The number of bits of the greatest term. A rank has room for ``ListCapacity/termBits`` bits.
        package var bits: Int { Int64.bitWidth - greaterTerm.leadingZeroBitCount }
    }

    /// The gap between two neighbours.
    package struct Gap: Hashable, Sendable {
        /// nil at the beginning of the list.
        package let lower: Item?
        /// nil at the end of the list.
        package let upper: Item?
        /// The number of inserts that certainly fit: see `Rank.insertsLeft(between:and:limit:ceiling:)`.
        package let insertsLeft: Int
    }

    /// A row whose rank can't be used.
    package struct Fault: Hashable, Sendable {
        package enum Reason: Hashable, Sendable {
            /// The fraction is not in lowest terms, or one of its terms is too large.
            case invalidRank
            /// By its sort key the row comes after this item, but the item's rank is not less.
            case outOfOrder(after: Item)
        }

        package let key: String
        package let numerator: Int64
        package let denominator: Int64
        package let reason: Reason
    }

    /// The number of bits of the greatest possible term.
    package static let termBits = Int64.bitWidth - (Rank.limit - 1).leadingZeroBitCount
    /// The most faults that are kept. All of them are counted.
    package static let faultLimit = 10

    /// The number of placed items, including items with a fault.
    package private(set) var itemCount = 0
    /// The first item with the greatest term; nil if there is no item.
    package private(set) var largest: Item?
    /// The first faults, at most ``faultLimit``.
    package private(set) var faults: [Fault] = []
    package private(set) var faultCount = 0
    private var last: Item?
    private var tightest: Gap?

    package init() {}

    /// The first gap with the fewest remaining inserts, including the gaps at both ends of the list; nil if there is no item.
    package var tightestGap: Gap? {
        guard let last else { return nil }
        var complete = self
        complete.compareGap(last, nil)
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
        compareGap(last, item)
        if item.greaterTerm > largest?.greaterTerm ?? 0 { largest = item }
        last = item
    }

    /// Compares a gap with the tightest one so far.
    private mutating func compareGap(_ lower: Item?, _ upper: Item?) {
        let known = tightest?.insertsLeft ?? .max
        let insertsLeft = Rank.insertsLeft(between: lower?.rank, and: upper?.rank, ceiling: known)
        if insertsLeft < known { tightest = Gap(lower: lower, upper: upper, insertsLeft: insertsLeft) }
    }

    private mutating func add(_ fault: Fault) {
        faultCount += 1
        if faults.count < Self.faultLimit { faults.append(fault) }
    }
}
