/// What a look at an attached table found.
package enum TableFindings: Hashable, Sendable {
    case readable(CheckedTable)
    /// Why the table can't be ordered as it is registered. Only a person can repair that.
    case refused(String)
    /// Why the current role may not read all of its rows. That is no fault of the table.
    case unreadable(String)
    /// Which session has locked the table. That is no fault of the table.
    case locked(String)

    package var checkedTable: CheckedTable? { if case .readable(let table) = self { table } else { nil } }
    package var isUnreadable: Bool { if case .unreadable = self { true } else { false } }
    package var isLocked: Bool { if case .locked = self { true } else { false } }

    /// Whether all was read, and nothing has to be repaired.
    package var areRight: Bool { checkedTable?.isRight == true }

    /// Whether `brocot check --repair` can repair something.
    package var isRepairable: Bool { checkedTable?.isRepairable == true }

    /// Whether a repair creates rank columns. They lack the rights that other roles had on the former ones.
    package var createsColumns: Bool { (checkedTable?.missingColumns ?? 0) > 0 }

    /// Whether something would be left after the repair.
    package var needsPerson: Bool { checkedTable?.faults.isEmpty != true }

    /// One line for each finding.
    ///
    /// - Parameter placingRows: Whether the rows without a place are about to be placed.
    /// - Returns: The lines, for people.
    package func lines(placingRows: Bool = false) -> [String] {
        switch self {
        case .readable(let table): table.lines(placingRows: placingRows)
        case .refused(let reason), .unreadable(let reason), .locked(let reason): [reason]
        }
    }
}
