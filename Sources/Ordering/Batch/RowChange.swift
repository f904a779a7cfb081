import SternBrocot

/// The net effect of a batch on one row.
package struct RowChange: Equatable, Sendable {
    package let key: String
    /// The list in which the row is stored; nil if the row must be inserted.
    package let storedList: String?
    /// The list of the row after the change; nil if the row must be deleted.
    package let list: String?
    /// The rank of the row after the change; nil means no rank.
    package let rank: Rank?
    /// The rank with which the row is stored; nil means no rank.
    var storedRank: Rank?

    var isInsertion: Bool { storedList == nil }
    var isDeletion: Bool { list == nil }
    /// Whether a stored row gets another list or rank.
    var isUpdate: Bool { !isInsertion && !isDeletion }

    /// Whether the row leaves its list, or enters another one.
    var changesList: Bool { list.map(ExactText.init) != storedList.map(ExactText.init) }
}

/// The net effect of moves on the rows of one table.
struct TableChanges {
    let table: OrderedTable
    let changes: [RowChange]
}
