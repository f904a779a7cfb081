import SternBrocot

/// The net effect of a batch on one row.
package struct RowChange: Equatable, Sendable {
    package let key: String
    /// The list in which the row is stored; nil: there is no row yet.
    package let storedList: String?
    /// The list that the row shall be in; nil: the row shall be gone.
    package let list: String?
    /// The rank that the row shall have; nil: none.
    package let rank: Rank?
    /// The rank with which the row is stored; nil: none.
    package var storedRank: Rank?

    /// Whether the row is stored in another list than it shall be in.
    var changesList: Bool { list.map(ExactText.init) != storedList.map(ExactText.init) }
}
