import Ordering

/// A move that an enqueuer asked for until it was acknowledged.
package struct AskedRequest: Sendable {
    package let key: String
    package let move: Move
    /// When it was sent for the first time: it can't have been seen before.
    package let sentAt: ContinuousClock.Instant
    /// When it was known to be committed.
    package let acknowledgedAt: ContinuousClock.Instant
    package let identifier: Int64

    package init(
        key: String, move: Move, sentAt: ContinuousClock.Instant, acknowledgedAt: ContinuousClock.Instant,
        identifier: Int64
    ) {
        self.key = key
        self.move = move
        self.sentAt = sentAt
        self.acknowledgedAt = acknowledgedAt
        self.identifier = identifier
    }
}

/// A request as the queue's columns have it.
struct RequestColumns: Hashable, Sendable {
    let orderedTable: String
    let list: String
    let items: [String]
    let placement: String
    let anchor: String?
    let position: Int?
    let source: String?

    init(_ move: Move) {
        orderedTable = move.list.orderedTable
        list = move.list.key
        items = move.items
        source = move.source?.key
        anchor = move.placement?.anchor
        switch move.placement {
        case nil: (placement, position) = ("remove", nil)
        case .first: (placement, position) = ("first", nil)
        case .last: (placement, position) = ("last", nil)
        case .before: (placement, position) = ("before", nil)
        case .after: (placement, position) = ("after", nil)
        case .at(let place): (placement, position) = ("at", place)
        }
    }

    init(
        orderedTable: String, list: String, items: [String], placement: String, anchor: String?, position: Int?,
        source: String?
    ) {
        self.orderedTable = orderedTable
        (self.list, self.items, self.placement) = (list, items, placement)
        (self.anchor, self.position, self.source) = (anchor, position, source)
    }

    /// Each with the name of its table.
    var lists: [ListIdentifier] {
        (source.map { [list, $0] } ?? [list]).map { ListIdentifier($0, of: orderedTable) }
    }
}
