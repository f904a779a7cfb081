import Ordering

/// The pending requests that can be decided together, because the batch contains every earlier request of their lists. Pure.
///
/// A list is cut where reading stopped, and before the first request whose other list isn't locked or was cut before that
/// request. One pass through the requests in the order of their ids finds all cuts, because a cut affects only later requests.
struct ClosedBatch: Sendable {
    /// The requests, in the order of their ids.
    private(set) var requests: [PendingRequest] = []
    /// The other requests of the locked lists.
    private(set) var undecided = UndecidedRequests()

    /// - Parameters:
    ///   - pending: The requests of the locked lists: at least the `limit` earliest of each list as target, and as source.
    ///   - lockedLists: The lists whose locks this transaction has.
    ///   - waiting: The waiting lists: see ``ListClaim/waiting``.
    ///   - leftOut: Lists whose locks another session has, and postponed lists. None of them is locked.
    ///   - limit: The most requests that were read for each list as target, and as source.
    init(
        _ pending: RequestReading, in lockedLists: [ListIdentifier], waiting: Set<ListIdentifier> = [],
        leftOut: Set<ListIdentifier> = [], limit: Int
    ) {
        let locked = Set(lockedLists)
        let ordered = pending.requests.sorted { $0.id < $1.id }
        let lastRead = Self.lastRead(ordered, limit: limit)
        // The lists of which no further request may be in the batch, and why.
        var cut: Set<ListIdentifier> = []
        var cutByWaiting = waiting
        var cutByLeftOut = leftOut
        var counts: [ListIdentifier: (inBatch: Int, left: Int)] = [:]
        for request in ordered {
            let lists = request.move.lists
            guard cutByWaiting.isDisjoint(with: lists) else {
                cutByWaiting.formUnion(lists)
                undecided.includeWaiting = true
                continue
            }
            let isClosed = lists.allSatisfy { list in
                locked.contains(list) && !cut.contains(list) && lastRead[list].map { request.id <= $0 } ?? true
                    && pending.firstUnread[list].map { request.id < $0 } ?? true
            }
            if isClosed {
                requests.append(request)
                for list in lists { counts[list, default: (0, 0)].inBatch += 1 }
            } else {
                cut.formUnion(lists)
                undecided.count += 1
                if !cutByLeftOut.isDisjoint(with: lists) { cutByLeftOut.formUnion(lists) }
                for list in lists { counts[list, default: (0, 0)].left += 1 }
            }
        }
        undecided.obstructed = cutByLeftOut.intersection(locked).filter { list in
            counts[list].map { $0.inBatch < $0.left } ?? false
        }
        undecided.hasChangesOfList = ordered.contains { $0.move.source != nil }
        let unserved = lockedLists.filter { counts[$0, default: (0, 0)].inBatch == 0 }
        undecided.crowdedOut = crowdedOut(among: unserved.filter { !cutByWaiting.contains($0) }, pending.firstUnread)
        undecided.untouched = Set(unserved).subtracting(undecided.crowdedOut)
    }

    /// The crowded-out lists among these, in the order in which they are served: those that were not read to their end.
    private func crowdedOut(
        among unserved: [ListIdentifier], _ firstUnread: [ListIdentifier: Int64]
    ) -> [ListIdentifier] {
        let unread = unserved.filter { firstUnread[$0] != nil }
        guard requests.isEmpty else { return unread.shuffled() }
        // Each request may wait for an older one that was left out. The oldest of these waits for none.
        return unread.sorted { firstUnread[$0, default: .max] < firstUnread[$1, default: .max] }
    }

    /// For each list that may have more requests, the id up to which all of them were read.
    private static func lastRead(_ ordered: [PendingRequest], limit: Int) -> [ListIdentifier: Int64] {
        var (asTarget, asSource): ([ListIdentifier: Int], [ListIdentifier: Int]) = ([:], [:])
        var lastRead: [ListIdentifier: Int64] = [:]
        for request in ordered {
            if Self.reaches(limit, &asTarget[request.move.list, default: 0]) {
                lastRead[request.move.list] = min(request.id, lastRead[request.move.list] ?? .max)
            }
            guard let source = request.move.source else { continue }
            if Self.reaches(limit, &asSource[source, default: 0]) {
                lastRead[source] = min(request.id, lastRead[source] ?? .max)
            }
        }
        return lastRead
    }

    /// Counts one more, and returns whether the limit is reached by it.
    private static func reaches(_ limit: Int, _ count: inout Int) -> Bool {
        count += 1
        return count == limit
    }
}
