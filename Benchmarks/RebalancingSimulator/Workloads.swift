import HeapModule
import Ordering
import SeededRandom
import SternBrocot

/// Workloads that use or attack a list with a policy. Each one returns the list with its counts.
struct Workloads {
    let policy: RebalancingPolicy

    func append(_ count: Int) -> SimulatedList { run(count) { list in list.count } }
    func prepend(_ count: Int) -> SimulatedList { run(count) { _ in 0 } }
    func afterTheSame(_ count: Int) -> SimulatedList { run(count, filled: 100) { _ in 50 } }
    func beforeTheSame(_ count: Int) -> SimulatedList { run(count, filled: 100) { list in list.count - 50 } }

    func random(_ count: Int, seed: UInt64) -> SimulatedList {
        var generator = SeededGenerator(seed: seed)
        return run(count) { list in Int.random(in: 0...list.count, using: &generator) }
    }

    /// Moves of random items to random places.
    func churn(items: Int, moves: Int, seed: UInt64) -> SimulatedList {
        var generator = SeededGenerator(seed: seed)
        var list = SimulatedList(policy)
        list.fill(items)
        for _ in 0..<moves {
            list.remove(at: Int.random(in: 0..<items, using: &generator))
            list.insert(at: Int.random(in: 0..<items, using: &generator))
        }
        return list
    }

    /// Inserts always between the two newest items.
    func zigzag(items: Int, inserts: Int) -> SimulatedList {
        var place = items / 2
        var isLower = false
        return run(inserts, filled: items) { _ in
            defer { isLower.toggle() }
            if isLower { place += 1 }
            return place
        }
    }

    /// A zigzag that moves to another place nearby after every 30 inserts.
    func jumpingZigzag(items: Int, inserts: Int, seed: UInt64) -> SimulatedList {
        var generator = SeededGenerator(seed: seed)
        var (place, number) = (items / 2, 0)
        return run(inserts, filled: items) { list in
            number += 1
            if number % 2 == 0 { place += 1 }
            if number % 30 == 0 {
                place = min(max(place + Int.random(in: -100...100, using: &generator), 1), list.count - 1)
            }
            return place
        }
    }

    /// Inserts beside the newest rebalanced window, outside or inside of it, on alternate sides, and each time into the gap with
    /// less room.
    func besideTheWindow(items: Int, inserts: Int, outside: Bool) -> SimulatedList {
        var list = SimulatedList(policy)
        list.fill(items)
        var (place, seen, isLower) = (items / 2, 0, false)
        for _ in 0..<inserts {
            list.insert(at: place)
            if list.rebalances != seen, let window = list.lastWindow {
                seen = list.rebalances
                isLower.toggle()
                let edge = isLower ? window.lowerBound : window.upperBound
                let inward = outside ? 0 : (isLower ? 1 : -1)
                place = min(max(edge + inward, 1), list.count - 1)
            } else if room(in: &list, before: place + 1) < room(in: &list, before: place) {
                place += 1
            }
        }
        return list
    }

    /// Inserts always into the gap whose simplest fraction has the largest terms.
    func tightestGap(items: Int, inserts: Int) -> SimulatedList {
        var list = SimulatedList(policy)
        list.fill(items)
        var gaps = Heap<Gap>()
        func add(before index: Int, in list: SimulatedList) {
            var ranks = list.ranks
            guard index > 0, index < list.count else { return }
            gaps.insert(Gap(ranks[index - 1], ranks[index]))
        }
        for index in 1..<items { add(before: index, in: list) }
        for _ in 0..<inserts {
            var place: Int?
            while place == nil, let gap = gaps.popMax() {
                var ranks = list.ranks
                guard let lower = ranks.index(of: gap.lower), lower + 1 < list.count, ranks[lower + 1] == gap.upper
                else { continue }
                place = lower + 1
            }
            guard let place else { break }
            let seen = list.rebalances
            list.insert(at: place)
            let changed = list.rebalances == seen ? place..<(place + 1) : list.lastWindow ?? place..<(place + 1)
            for index in changed.lowerBound...changed.upperBound { add(before: index, in: list) }
        }
        return list
    }

    /// Replays a recording: positions, the number of characters deleted there, and the number inserted.
    func edits(_ patches: [Recording.Patch]) -> SimulatedList {
        var list = SimulatedList(policy)
        for patch in patches {
            for _ in 0..<patch.deleted { list.remove(at: patch.position) }
            for offset in 0..<patch.inserted { list.insert(at: patch.position + offset) }
        }
        return list
    }

    /// The same, but one request places up to `most` characters that an edit inserts.
    func blockEdits(_ patches: [Recording.Patch], most: Int) -> SimulatedList {
        var list = SimulatedList(policy)
        for patch in patches {
            for _ in 0..<patch.deleted { list.remove(at: patch.position) }
            for start in stride(from: 0, to: patch.inserted, by: most) {
                list.insert(min(most, patch.inserted - start), at: patch.position + start)
            }
        }
        return list
    }

    /// The number of bits of the greatest term that a recording would need without rebalancing.
    static func unboundedBits(_ patches: [Recording.Patch]) -> Int {
        var list = ChunkedList<UnboundedRank>()
        var most = 0
        for patch in patches {
            for _ in 0..<patch.deleted { list.remove(at: patch.position) }
            for index in patch.position..<(patch.position + patch.inserted) {
                let rank = UnboundedRank.between(
                    index > 0 ? list[index - 1] : nil, index < list.count ? list[index] : nil)
                list.insert(rank, at: index)
                most = max(most, rank.bits)
            }
        }
        return most
    }

    /// Typing at a cursor that jumps, mostly to a near place, with backspaces and pasting.
    func typing(inserts: Int, nearbyJump: Int, seed: UInt64) -> SimulatedList {
        var generator = SeededGenerator(seed: seed)
        var list = SimulatedList(policy)
        var cursor = 0
        while list.inserts < inserts {
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: cursor = Int.random(in: 0...list.count, using: &generator)
            case 1...8:
                cursor += Int.random(in: -nearbyJump...nearbyJump, using: &generator)
                cursor = min(max(cursor, 0), list.count)
            case 9...12:
                for _ in 0..<min(cursor, Int.random(in: 1...12, using: &generator)) {
                    cursor -= 1
                    list.remove(at: cursor)
                }
            case 13:
                let block = Int.random(in: 2...200, using: &generator)
                list.insert(block, at: cursor)
                cursor += block
            default:
                for _ in 0..<Int.random(in: 1...40, using: &generator) {
                    list.insert(at: cursor)
                    cursor += 1
                }
            }
        }
        return list
    }

    // MARK: Parts

    private func run(
        _ inserts: Int, filled: Int = 0, _ place: (SimulatedList) -> Int
    ) -> SimulatedList {
        var list = SimulatedList(policy)
        list.fill(filled)
        for _ in 0..<inserts { list.insert(at: place(list)) }
        return list
    }

    private struct Gap: Comparable {
        let lower: Rank
        let upper: Rank
        let term: UInt64

        init(_ lower: Rank, _ upper: Rank) {
            self.lower = lower
            self.upper = upper
            term = Workloads.largestTerm(Rank.between(lower, upper))
        }

        static func < (left: Self, right: Self) -> Bool { left.term < right.term }
    }

    /// A number that is smaller for gaps with less room.
    private func room(in list: inout SimulatedList, before index: Int) -> UInt64 {
        var ranks = list.ranks
        guard index > 0, index < list.count else { return .max }
        return .max - Self.largestTerm(Rank.between(ranks[index - 1], ranks[index]))
    }

    fileprivate static func largestTerm(_ rank: Rank?) -> UInt64 {
        rank.map { max($0.numerator.magnitude, UInt64($0.denominator)) } ?? UInt64(Rank.limit)
    }
}
