import LibPQ
import Ordering

/// The lists that a transaction has found, and whose locks it has tried to take.
package struct ListClaim: Sendable {
    /// The number of lists with pending requests that were found, within the limit of locks.
    var found = 0
    /// The round continues after this list. All lists up to it were found.
    var lastFound: ListIdentifier?
    /// The number of further lists with pending requests that were found, beyond the limit of locks.
    var beyondLimit = 0
    /// The lists whose locks were taken.
    package var locked: [ListIdentifier] = []
    /// Lists whose locks another session has.
    package var lockedByOthers: [ListIdentifier] = []
    /// Lists that are held or paused, or whose table `brocot attach` still fills.
    var waiting: [ListIdentifier] = []

    /// A claim without lists.
    init() {}

    /// Reads the rows of a statement of `QueueStatements+Claim`.
    init(_ rows: Rows) throws(PostgresError) {
        typealias Column = QueueStatements.ClaimColumn
        var numbered: [Int: ListIdentifier] = [:]
        var readyLists = 0
        for row in rows {
            let list = ListIdentifier(
                orderedTable: try row.decode(Column.orderedTable), key: try row.decode(Column.list))
            let number = try row.decode(Column.number, as: Int.self)
            if number > 0 { numbered[number] = list }
            readyLists = try row.decode(Column.readyLists)
            if try row.decode(Column.isWaiting) {
                waiting.append(list)
            } else if try row.decode(Column.isLocked) {
                locked.append(list)
            } else {
                lockedByOthers.append(list)
            }
        }
        (found, beyondLimit) = (numbered.count, readyLists - numbered.count)
        // A partner may have a high number and be chosen because it belongs to an early list. Lists with lower numbers
        // may then not be chosen. So the round continues after the last list before which no number is missing.
        var number = 1
        while let list = numbered[number] { (lastFound, number) = (list, number + 1) }
    }

    /// What two attempts found: this claim, and the claim of a second attempt on the lists that this one has locked.
    func afterSecondAttempt(_ second: ListClaim) -> ListClaim {
        var both = self
        both.locked = second.locked
        both.lockedByOthers = Array(Set(lockedByOthers + second.lockedByOthers).subtracting(second.locked))
        both.waiting = Array(Set(waiting + second.waiting))
        return both
    }
}
