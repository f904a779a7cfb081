import SternBrocot

/// The ranks strictly between two others; nil is an infinite end.
struct OpenInterval {
    var lower: Rank?
    var upper: Rank?

    init(_ lower: Rank?, _ upper: Rank?) {
        self.lower = lower
        self.upper = upper
    }

    /// The `count` ranks whose greater term is least, in ascending order; nil where fewer have both terms below `limit`.
    ///
    /// A fraction is simpler than all below it in the Stern–Brocot tree, so the tree is searched best first from the simplest
    /// fraction of the interval, which takes O(count · log count).
    func simplest(_ count: Int, limit: Int64) -> [Rank]? {
        var candidates = CandidateHeap()
        candidates.insert(self, limit: limit)
        var ranks: [Rank] = []
        ranks.reserveCapacity(count)
        while ranks.count < count {
            guard let (rank, interval) = candidates.removeSimplest() else { return nil }
            ranks.append(rank)
            candidates.insert(OpenInterval(interval.lower, rank), limit: limit)
            candidates.insert(OpenInterval(rank, interval.upper), limit: limit)
        }
        return ranks.sorted()
    }

    /// The worst-case inserts that fit between, in bits: each takes 0.69 at most. Negative where none fits.
    func room(limit: Int64) -> Double {
        guard let rank = Rank.between(lower, upper, limit: limit) else { return -1 }
        return bitWidth(of: limit.magnitude) - bitWidth(of: rank.greaterTerm)
    }
}

/// The dyadic logarithm, exact for powers of two and 0.09 too small at most: the same on every machine.
func bitWidth(of term: UInt64) -> Double {
    let value = Double(max(1, term))
    return Double(value.exponent) + value.significand - 1
}

extension Rank {
    /// The greater of |numerator| and denominator, which says how deep the rank is in the tree.
    var greaterTerm: UInt64 { max(numerator.magnitude, denominator.magnitude) }
}

/// A binary heap of intervals by the greater term of the simplest fraction within.
private struct CandidateHeap {
    private var nodes: [(term: UInt64, rank: Rank, interval: OpenInterval)] = []

    /// Leaves the interval out where no fraction within has terms below `limit`.
    mutating func insert(_ interval: OpenInterval, limit: Int64) {
        guard let rank = Rank.between(interval.lower, interval.upper, limit: limit) else { return }
        nodes.append((rank.greaterTerm, rank, interval))
        var child = nodes.count - 1
        while child > 0, nodes[child].term < nodes[(child - 1) / 2].term {
            nodes.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeSimplest() -> (rank: Rank, interval: OpenInterval)? {
        guard let last = nodes.popLast() else { return nil }
        guard let first = nodes.first else { return (last.rank, last.interval) }
        nodes[0] = last
        var parent = 0
        while 2 * parent + 1 < nodes.count {
            let (left, right) = (2 * parent + 1, 2 * parent + 2)
            let least = right < nodes.count && nodes[right].term < nodes[left].term ? right : left
            guard nodes[least].term < nodes[parent].term else { break }
            nodes.swapAt(parent, least)
            parent = least
        }
        return (first.rank, first.interval)
    }
}
