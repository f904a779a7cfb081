import HeapModule
import SternBrocot

/// The ranks strictly between two others; nil stands for an infinite end.
struct OpenInterval {
    var lower: Rank?
    var upper: Rank?

    init(_ lower: Rank?, _ upper: Rank?) {
        self.lower = lower
        self.upper = upper
    }

    /// The ranks of `count` items that are placed one after the other, each directly after the one before; nil if one of them has
    /// no room below `limit`. At the beginning of a list they are consecutive integers.
    ///
    /// Pasted items get the same ranks as items that are inserted one after the other. The next insert is usually after the last item,
    /// so the most room must be there. With ranks at equal distances, the gap there would be only a small part of the whole gap.
    func oneAfterTheOther(_ count: Int, limit: Int64) -> [Rank]? {
        guard var last = lower else { return Rank.spread(count, between: nil, and: upper, limit: limit) }
        var ranks: [Rank] = []
        ranks.reserveCapacity(count)
        for _ in 0..<count {
            guard let next = Rank.between(last, upper, limit: limit) else { return nil }
            ranks.append(next)
            last = next
        }
        return ranks
    }

    /// The `count` ranks with the smallest greater terms, in ascending order; nil if there are fewer ranks below `limit`.
    ///
    /// A fraction is simpler than all fractions below it in the Stern–Brocot tree. So a best-first search of the tree from the
    /// simplest fraction of the interval finds them in O(count · log count).
    func simplest(_ count: Int, limit: Int64) -> [Rank]? {
        var candidates = Heap<Candidate>()
        if let root = Candidate(self, limit: limit) { candidates.insert(root) }
        var ranks: [Rank] = []
        ranks.reserveCapacity(count)
        while ranks.count < count {
            guard let simplest = candidates.popMin() else { return nil }
            ranks.append(simplest.rank)
            let (interval, rank) = (simplest.interval, simplest.rank)
            if let left = Candidate(OpenInterval(interval.lower, rank), limit: limit) { candidates.insert(left) }
            if let right = Candidate(OpenInterval(rank, interval.upper), limit: limit) { candidates.insert(right) }
        }
        return ranks.sorted()
    }

    /// An interval and its simplest fraction. Candidates are compared by the greater term of this fraction.
    private struct Candidate: Comparable {
        let rank: Rank
        let interval: OpenInterval

        /// nil if no fraction in the interval has both terms below `limit`.
        init?(_ interval: OpenInterval, limit: Int64) {
            guard let rank = Rank.between(interval.lower, interval.upper, limit: limit) else { return nil }
            self.rank = rank
            self.interval = interval
        }

        static func == (left: Candidate, right: Candidate) -> Bool { left.rank.greaterTerm == right.rank.greaterTerm }
        static func < (left: Candidate, right: Candidate) -> Bool { left.rank.greaterTerm < right.rank.greaterTerm }
    }

    /// The room between the two ranks: the number of bits by which the terms can still grow. Each insert needs at most 0.69
    /// bits. The room is negative if no rank fits.
    func room(limit: Int64) -> Double {
        guard let rank = Rank.between(lower, upper, limit: limit) else { return -1 }
        return bitWidth(of: limit) - bitWidth(of: rank.greaterTerm)
    }
}

/// An approximation of the binary logarithm, exact for powers of two and at most 0.09 too small. Unlike `log2`, it gives the
/// same result on every machine.
func bitWidth(of term: Int64) -> Double {
    let value = Double(max(1, term))
    return Double(value.exponent) + value.significand - 1
}
