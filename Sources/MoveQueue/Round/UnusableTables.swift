import Ordering

/// Ordered tables that can't be read at all, as far as a worker knows: many of their lists fail for a reason that concerns the whole table,
/// such as a missing column. Pure.
///
/// All other lists of such a table would fail too. So the worker leaves the table out, and tries only the lists again that are known to fail.
/// The table is usable again as soon as one of these lists no longer fails for such a reason.
struct UnusableTables: Sendable {
    /// So many lists of a table must fail, each for itself.
    static let fewestLists = 32

    private var failingLists: [ExactText: Set<ListIdentifier>] = [:]

    /// The names of the tables.
    var names: [String] { failingLists.filter { $0.value.count >= Self.fewestLists }.map(\.key.text) }

    func contains(tableOf list: ListIdentifier) -> Bool {
        guard let lists = failingLists[ExactText(list.orderedTable)] else { return false }
        return lists.count >= Self.fewestLists
    }

    /// Whether this list is known to fail for a reason that concerns its whole table.
    func contains(_ list: ListIdentifier) -> Bool { failingLists[ExactText(list.orderedTable)]?.contains(list) == true }

    /// Records that a list failed for a reason that concerns its whole table.
    mutating func noteFailure(of list: ListIdentifier) {
        failingLists[ExactText(list.orderedTable), default: []].insert(list)
    }

    /// Records that a list did not fail for such a reason, or was not found.
    mutating func forget(_ list: ListIdentifier) {
        guard !failingLists.isEmpty else { return }
        let table = ExactText(list.orderedTable)
        failingLists[table]?.remove(list)
        if failingLists[table]?.isEmpty == true { failingLists[table] = nil }
    }
}
