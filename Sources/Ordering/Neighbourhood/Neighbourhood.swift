import SternBrocot

/// The known part of one list: its rows as they are stored, and the order that the moves applied so far give them.
///
/// Stored and current ranks share one scale. Rows that are not known are where they are stored, outside `coverage`; so
/// within a covered interval the known members are all there are.
package struct Neighbourhood: Sendable {
    struct Member: Sendable {
        let key: String
        var stored: Presence
        var current: Presence
        /// The list in which the row is stored, if it came from another one by a change of list.
        var origin: Int?
    }

    private(set) var members: [Member] = []
    private var memberByKey: [ExactText: Int] = [:]
    private(set) var order = RankOrder()
    private(set) var coverage = Coverage()
    /// In the order of the rows before them.
    private var landmarks: [Landmark] = []
    /// The list was found to have fewer placed rows stored than this.
    private(set) var lengthBound: Int?
    /// The members that were given another presence at some time.
    private(set) var touched: Set<Int> = []
    /// The stored ranks of members that are elsewhere now.
    private var departed = SortedRanks()
    /// The ranks that members have now where they are not stored.
    private var arrived = SortedRanks()
    /// Each time that a move had to wait for rows, the next runs are twice as long.
    private var loads = 0

    package init() {}

    /// A place in the stored list with a known number of placed rows before it; a nil rank is the end of the list.
    struct Landmark: Sendable {
        let rank: Rank?
        let storedBefore: Int
    }

    // MARK: Reading

    /// The member with this key, if it was looked up; it may turn out to be absent.
    func member(_ key: String) -> Int? { memberByKey[ExactText(key)] }

    /// How many rows a run asks for at the least.
    var runLength: Int { 4 << min(loads, 10) }

    /// Whether every row is known.
    var isWhole: Bool { coverage.fromBeginning?.upper == nil && coverage.fromBeginning != nil }

    /// How many placed rows there are before `rank` now, beyond those that are stored before it.
    func drift(before rank: Rank?) -> Int {
        guard let rank else { return arrived.count - departed.count }
        return arrived.countBefore(rank) - departed.countBefore(rank)
    }

    /// The place with a known number of stored rows before it that is nearest to this number.
    func landmark(nearest position: Int) -> Landmark? {
        let next = firstLandmark(from: position)
        return landmarks[max(0, next - 1)..<min(next + 1, landmarks.count)]
            .min { abs($0.storedBefore - position) < abs($1.storedBefore - position) }
    }

    private func firstLandmark(from position: Int) -> Int {
        var (low, high) = (0, landmarks.count)
        while low < high {
            let middle = (low + high) / 2
            if landmarks[middle].storedBefore < position { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func insert(_ landmark: Landmark) {
        landmarks.insert(landmark, at: firstLandmark(from: landmark.storedBefore))
    }

    // MARK: Learning

    /// Takes in what the database answered.
    ///
    /// - Throws: ``OrderingError`` where it contradicts what was read before under the same lock.
    mutating func learn(_ finding: Finding, for need: Need) throws(OrderingError) {
        switch (need, finding) {
        case (.row(let key, let wantedBelow, let wantedAbove), .row(let presence, let below, let above)):
            try learn(key: key.text, presence)
            guard let rank = presence.rank else { return }
            coverage.insert(RankInterval(lower: rank, upper: rank))
            if wantedBelow > 0 { try learnRun(below, from: rank, .down, wanted: wantedBelow) }
            if wantedAbove > 0 { try learnRun(above, from: rank, .up, wanted: wantedAbove) }
        case (.run(let start, let direction, let wanted), .run(let rows)):
            try learnRun(rows, from: start, direction, wanted: wanted)
        case (.position, .position(let offset, let rows)):
            guard let first = rows.first else {
                lengthBound = min(lengthBound ?? .max, offset)
                return
            }
            try learnRun(rows[1...], from: first.rank, .up, wanted: rows.count - 1)
            try learn(key: first.key, .placed(first.rank))
            coverage.insert(RankInterval(lower: first.rank, upper: first.rank))
            insert(Landmark(rank: first.rank, storedBefore: offset))
        case (.count, .count(let count)):
            insert(Landmark(rank: nil, storedBefore: count))
        default:
            preconditionFailure("a finding answers a need of its own kind")
        }
    }

    /// Notes that a move waits for rows.
    mutating func noteLoad() { loads += 1 }

    private mutating func learnRun(
        _ rows: some Collection<StoredRow>, from start: Rank?, _ direction: Need.Direction, wanted: Int
    ) throws(OrderingError) {
        for row in rows { try learn(key: row.key, .placed(row.rank)) }
        // Fewer rows than wanted: the list ends there.
        var end: Rank?
        if rows.count >= wanted { end = rows.reversed().first?.rank ?? start }
        let interval =
            switch direction {
            case .down: RankInterval(lower: end, upper: start)
            case .up: RankInterval(lower: start, upper: end)
            }
        coverage.insert(interval)
    }

    private mutating func learn(key: String, _ presence: Presence) throws(OrderingError) {
        if let known = memberByKey[ExactText(key)] {
            guard members[known].stored == presence else { throw .rowsChangedUnderLock(key: key) }
            return
        }
        let index = add(Member(key: key, stored: presence, current: presence))
        if let rank = presence.rank { order.insert(index, at: rank) }
    }

    /// Notes that the list has no row with this key.
    mutating func addAbsent(_ key: String) -> Int {
        add(Member(key: key, stored: .absent, current: .absent))
    }

    private mutating func add(_ member: Member) -> Int {
        members.append(member)
        memberByKey[ExactText(member.key)] = members.count - 1
        return members.count - 1
    }

    // MARK: Changing

    /// Takes members out of the order, for now or for good, and returns what they were.
    mutating func lift(_ lifted: [Int]) -> [Presence] {
        let presences = lifted.map { members[$0].current }
        let placed = lifted.filter { members[$0].current.rank != nil }
        if placed.count > 16 {
            order.removeAll(Set(placed.lazy.map(Int32.init)))
        } else {
            for index in placed { if let rank = members[index].current.rank { order.remove(at: rank) } }
        }
        for index in lifted { setPresence(of: index, .unplaced) }
        return presences
    }

    /// Undoes `lift`.
    mutating func restore(_ lifted: [Int], _ presences: [Presence]) {
        for (index, presence) in zip(lifted, presences) {
            setPresence(of: index, presence)
            if let rank = presence.rank { order.insert(index, at: rank) }
        }
    }

    /// Says that members that were lifted are in the list no more, or without a place.
    mutating func drop(_ lifted: [Int], to presence: Presence) {
        for index in lifted {
            setPresence(of: index, presence)
            if presence == .absent { members[index].origin = nil }
        }
    }

    /// Says that a lifted member arrived from another list.
    mutating func setOrigin(of index: Int, _ origin: Int?) { members[index].origin = origin }

    /// Puts lifted members into the gap before `index` of the order, and gives its neighbours their new ranks.
    ///
    /// - Returns: how many neighbours got another rank.
    mutating func place(_ lifted: [Int], in window: RankWindow, at index: Int) -> Int {
        let start = index - window.below
        var rebalanced = 0
        for offset in 0..<(window.below + window.above) {
            let rank = window.ranks[offset < window.below ? offset : offset + lifted.count]
            guard order.ranks[start + offset] != rank else { continue }
            setPresence(of: Int(order.members[start + offset]), .placed(rank))
            rebalanced += 1
        }
        let (below, placed) = (window.ranks[..<window.below], window.ranks[window.below...].prefix(lifted.count))
        order.replaceRanks(from: index, with: window.ranks.suffix(window.above))
        order.replaceRanks(from: start, with: below)
        order.insert(lifted, ranks: placed, at: index)
        for (member, rank) in zip(lifted, placed) { setPresence(of: member, .placed(rank)) }
        return rebalanced
    }

    private mutating func setPresence(of index: Int, _ presence: Presence) {
        let (stored, before) = (members[index].stored.rank, members[index].current.rank)
        if before != presence.rank {
            if before == stored {
                if let stored { departed.insert(stored) }
            } else if let before {
                arrived.remove(before)
            }
            if presence.rank == stored {
                if let stored { departed.remove(stored) }
            } else if let rank = presence.rank {
                arrived.insert(rank)
            }
        }
        members[index].current = presence
        touched.insert(index)
    }
}
