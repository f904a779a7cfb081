import LibPQ
import Ordering

/// The lists that a transaction has found, and whose locks it has tried to take.
struct ListClaim {
    /// The number of lists with pending requests that were found, and for which the transaction had a lock to spare.
    private(set) var found = 0
    /// In the order of a round, the last of these lists before which none was left.
    private(set) var lastFound: ListIdentifier?
    /// The number of lists with pending requests for which the transaction had no lock to spare.
    private(set) var left = 0
    private(set) var locked: [ListIdentifier] = []
    /// Lists whose locks another session has.
    private(set) var unavailable: [ListIdentifier] = []
    /// Lists that wait for a person.
    private(set) var held: [ListIdentifier] = []

    /// Reads the rows of a statement of `QueueStatements+Claim`.
    init(_ rows: Rows) throws(PostgresError) {
        var numbered: [Int: ListIdentifier] = [:]
        var allFound = 0
        for row in rows {
            let list = ListIdentifier(orderedTable: try row.decode(0), list: try row.decode(1))
            let number = try row.decode(2, as: Int.self)
            if number > 0 { numbered[number] = list }
            allFound = try row.decode(5)
            switch (isHeld: try row.decode(3, as: Bool.self), isLocked: try row.decode(4, as: Bool.self)) {
            case (true, _): held.append(list)
            case (false, true): locked.append(list)
            case (false, false): unavailable.append(list)
            }
        }
        (found, left) = (numbered.count, allFound - numbered.count)
        // The other list of a change of list is chosen early. The lists before it must not be skipped.
        var number = 1
        while let list = numbered[number] { (lastFound, number) = (list, number + 1) }
    }
}
