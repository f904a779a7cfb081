import Ordering

/// The pending requests that can be decided together, because every earlier request of their lists is among them.
///
/// Pure. A list is cut where reading stopped, and before the first request whose other list isn't locked or was cut
/// before. Going through the requests by id finds every cut at once: a cut only holds up later ones.
package struct ClosedBatch: Equatable, Sendable {
    /// By id.
    package private(set) var requests: [PendingRequest] = []
    /// How many requests were left for later.
    package private(set) var heldBack = 0
    /// How many requests come after a held list's first one, and wait for a person.
    package private(set) var held = 0
    /// Lists of which more requests had to be left than could be taken, because somebody else has a list that they need.
    package private(set) var obstructed: Set<ListIdentifier> = []

    /// - Parameters:
    ///   - pending: requests that touch the locked lists, at least the `limit` earliest of each list in each role.
    ///   - locked: the lists whose locks are held.
    ///   - held: lists that wait for a person.
    ///   - taken: lists that somebody else has. None of them is in `locked`.
    ///   - cuts: the ids from which on requests of lists were not read.
    ///   - limit: how many requests were read at the most, for each list as target and again as source.
    package init(
        _ pending: [PendingRequest], locked: Set<ListIdentifier>, held: Set<ListIdentifier> = [],
        taken: Set<ListIdentifier> = [], cuts: [ListIdentifier: Int64] = [:], limit: Int
    ) {
        let ordered = pending.sorted { $0.id < $1.id }
        let lastRead = Self.lastRead(ordered, limit: limit)
        var cut: Set<ListIdentifier> = []
        var cutByHold = held
        var cutByOthers = taken
        /// How many more requests were taken than left, of the lists that somebody else holds up.
        var balance: [ListIdentifier: Int] = [:]
        for request in ordered {
            let lists = request.move.lists
            guard cutByHold.isDisjoint(with: lists) else {
                cutByHold.formUnion(lists)
                self.held += 1
                continue
            }
            let isClosed = lists.allSatisfy { list in
                locked.contains(list) && !cut.contains(list) && lastRead[list].map { request.id <= $0 } ?? true
                    && cuts[list].map { request.id < $0 } ?? true
            }
            if isClosed {
                requests.append(request)
                for list in lists { balance[list, default: 0] += 1 }
            } else {
                cut.formUnion(lists)
                heldBack += 1
                if !cutByOthers.isDisjoint(with: lists) { cutByOthers.formUnion(lists) }
                for list in lists { balance[list, default: 0] -= 1 }
            }
        }
        obstructed = cutByOthers.intersection(locked).filter { balance[$0, default: 0] < 0 }
    }

    /// The id up to which all requests of a list were read, where there may be more.
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
