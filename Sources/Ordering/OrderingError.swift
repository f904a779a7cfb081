import LibPQ

/// An error after which nothing is decided.
package enum OrderingError: Error, Sendable {
    /// The database failed, or refused a statement.
    case database(PostgresError)
    /// The server refuses the statements that read the lists of a table, whatever rows it has: a table, a column, a function or a right is missing.
    case unreadableTable(PostgresError)
    /// Rows of the list changed between two statements: another session writes without the list's lock.
    case rowsChangedUnderLock(list: ListIdentifier, key: String)
    /// The number of rows that were written as requested is not the expected number.
    case unexpectedRowCount(table: String, expected: Int, written: Int)
    /// Another session has locked rows of these lists, or has changed them after they were read. Nothing was written.
    case rowsLocked(lists: [ListIdentifier])
    /// Reading or writing lists of the table one after another took longer than one statement may take.
    case tookTooLong(table: String)
    /// A stored rank is not a fraction in lowest terms within the limits.
    case invalidStoredRank(table: String, list: String, key: String, rank: String)
    /// The stored ranks of a list give no order: two items have the same rank, or the sort key of one is not its fraction's value.
    case ranksOutOfOrder(list: ListIdentifier, key: String, other: String?)
    /// The place of an item is still unknown after very many reads, which is a defect of this program.
    case readingDoesNotSettle(list: ListIdentifier)
    /// A key column of the registered table has an unsupported type.
    case unsupportedKeyType(table: String, column: String, type: String)
    /// The table is registered, but it or one of its key columns does not exist.
    case missingColumn(table: String, relation: String, column: String)
    /// The table has the triggers of another order, which would undo each move.
    case triggerOfOtherOrder(table: String, function: String)
    /// The current role is a superuser, and the table belongs to a role that it does not trust.
    case untrustedOwner(table: String, owner: String)
}

extension OrderingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .database(let error), .unreadableTable(let error):
            "\(error)"
        case .rowsChangedUnderLock(let list, let key):
            "item '\(key)' of list '\(list.key)' in \(list.orderedTable) changed while the list was locked; something writes ranks without "
                + "taking the list's lock. Let only Brocot write rank columns"
        case .unexpectedRowCount(let table, let expected, let written):
            "\(written) instead of \(expected) rows of \(table) were written as requested; a trigger on the table returns NULL or "
                + "changes list or rank, or something else changes the same rows"
        case .rowsLocked(let lists):
            "rows are locked by another session, or were changed by one, in lists "
                + lists.map(\.description).joined(separator: ", ")
        case .tookTooLong(let table):
            "a statement that reads or writes lists of \(table) took too long, so smaller batches are tried. Find out what is slow there, "
                + "such as a trigger"
        case .invalidStoredRank(let table, let list, let key, let rank):
            "item '\(key)' of list '\(list)' in \(table) has rank \(rank), which is not a fraction in lowest terms within "
                + "bounds. Run brocot check --repair; in brocot.items, restore the row, or set its rank columns to a free fraction"
        case .ranksOutOfOrder(let list, let key, let other):
            "item '\(key)' of list '\(list.key)' in \(list.orderedTable) "
                + (other.map { "has the same rank as item '\($0)'" }
                    ?? "has a rank that is not the value of its fraction")
                + "; an index or a constraint of the table is missing. Run brocot check --repair; for brocot.items, brocot migrate verify"
        case .readingDoesNotSettle(let list):
            "reading list \(list) does not end; this is a defect of Brocot, so please report it together with the requests"
        case .unsupportedKeyType(let table, let column, let type):
            "column \(column) of \(table) has type \(type); keys are \(KeyType.names)"
        case .missingColumn(let table, let relation, let column):
            "ordered table \(table) is registered, but there is no table \(relation) with a column "
                + "\(column) (a view is not a table). Run brocot check: it says what to do"
        case .triggerOfOtherOrder(let table, let function):
            "\(table) has the triggers of another order: one calls brocot.\(quoteIdentifier(function)), which would undo each move. The table "
                + "has got the name of another table. Run brocot check"
        case .untrustedOwner(let table, let owner):
            "\(table) belongs to role \(owner), whose triggers would run with the rights of this superuser; run the daemon as a role of "
                + "its own, or, if you trust the owner, grant \(owner) to this superuser as a superuser"
        }
    }
}
