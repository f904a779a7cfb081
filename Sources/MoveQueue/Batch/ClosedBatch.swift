import Ordering

/// The pending requests that can be decided together, because the batch contains every earlier request of their lists. Pure.
///
/// A list is cut where reading stopped, and before the first request whose other list isn't locked or was cut before that
/// request. One pass through the requests in the order of their ids finds all cuts, because a cut affects only later requests.
struct ClosedBatch: Equatable, Sendable {
    /// The requests, in the order of their ids.
    private(set) var requests: [PendingRequest] = []
    /// The number of requests that are left for a later transaction.
    private(set) var requestsLeft = 0
    /// Whether further requests belong to waiting lists, or come after such a request.
    private(set) var leavesWaitingRequests = false
    /// The lists that wait for a person, and those of which a request waits for one of these lists.
    private(set) var waitingLists: Set<ListIdentifier> = []
    /// Lists of which more requests are left than are in the batch, because they need a list that is left out.
    private(set) var obstructed: Set<ListIdentifier> = []

    /// - Parameters:
    ///   - pending: The requests of the locked lists: at least the `limit` earliest of each list as target, and as source.
    ///   - locked: The lists whose locks this transaction has.
    ///   - waiting: The waiting lists: see ``ListClaim/waiting``.
    ///   - leftOut: Lists whose locks another session has, and postponed lists. None of them is in `locked`.
    ///   - firstUnread: For lists that were not read to the end, the first id that was not read.
    ///   - limit: The most requests that were read for each list as target, and as source.
    init(
        _ pending: [PendingRequest], locked: Set<ListIdentifier>, waiting: Set<ListIdentifier> = [],
        leftOut: Set<ListIdentifier> = [], firstUnread: [ListIdentifier: Int64] = [:], limit: Int
    ) {
        let ordered = pending.sorted { $0.id < $1.id }
        let lastRead = Self.lastRead(ordered, limit: limit)
        // The lists of which no further request may be in the batch, and why.
        var cut: Set<ListIdentifier> = []
        var cutByWaiting = waiting
        var cutByLeftOut = leftOut
        // For each list: the requests in the batch minus those left.
        var balance: [ListIdentifier: Int] = [:]
        for request in ordered {
            let lists = request.move.lists
            guard cutByWaiting.isDisjoint(with: lists) else {
                cutByWaiting.formUnion(lists)
                leavesWaitingRequests = true
                continue
            }
            let isClosed = lists.allSatisfy { list in
                locked.contains(list) && !cut.contains(list) && lastRead[list].map { request.id <= $0 } ?? true
                    && firstUnread[list].map { request.id < $0 } ?? true
            }
            if isClosed {
                requests.append(request)
                for list in lists { balance[list, default: 0] += 1 }
            } else {
                cut.formUnion(lists)
                requestsLeft += 1
                if !cutByLeftOut.isDisjoint(with: lists) { cutByLeftOut.formUnion(lists) }
                for list in lists { balance[list, default: 0] -= 1 }
            }
        }
        waitingLists = cutByWaiting
        obstructed = cutByLeftOut.intersection(locked).filter { balance[$0, default: 0] < 0 }
    }

    /// For each list that may have more requests, the id up to which all of them were read.
    private static func lastRead(_ ordered: [PendingRequest], limit: Int) -> [ListIdentifier: Int64] {
        var (asTarget, asSource): ([ListIdentifier: Int], [ListIdentifier: Int]) = ([:], [:])
        var lastRead: [ListIdentifier: Int64] = [:]
        for request in ordered {
            asTarget[request.move.list, default: 0] += 1
            if asTarget[request.move.list] == limit {
                lastRead[request.move.list] = min(request.id, lastRead[request.move.list] ?? .max)
            }
            guard let source = request.move.source else { continue }
            asSource[source, default: 0] += 1
            if asSource[source] == limit { lastRead[source] = min(request.id, lastRead[source] ?? .max) }
        }
        return lastRead
    }
}
