import Ordering

/// How a worker gets past lists that fail one by one, so that the others need not wait for them. Pure.
///
/// It may be a single list that fails, or every list of an ordered table whose columns were renamed, say. So the next
/// lists are tried at once, but only a few; then it is time for a pause, and to go on behind the whole table, or anywhere,
/// in turn.
package struct Detour: Sendable {
    package enum Continuation: Equatable, Sendable {
        case behindList(ListIdentifier)
        case behindTable(String)
        case anywhere
    }

    /// So many lists may fail until a pause is due.
    package static let listsBeforePause = 8

    private var failed: [ListIdentifier] = []
    private var passesOverTable = false

    package init() {}

    /// Takes in that a batch of one list failed; nil: it is not known which.
    ///
    /// - Returns: where to go on, and whether to pause before.
    package mutating func noteFailure(of list: ListIdentifier?) -> (continuation: Continuation, isPauseDue: Bool) {
        guard let list else {
            failed = []
            return (.anywhere, true)
        }
        if !failed.contains(list), failed.count < Self.listsBeforePause - 1 {
            failed.append(list)
            return (.behindList(list), false)
        }
        failed = []
        passesOverTable.toggle()
        return (passesOverTable ? .behindTable(list.orderedTable) : .anywhere, true)
    }
}
