import Ordering

/// What a transaction leaves out of its search for lists.
struct PostponedNames: Equatable, Sendable {
    static let none = PostponedNames()

    var lists: [ListIdentifier] = []
    /// Ordered tables of which all lists are left out. A search steps over such a table at once, however many of its lists have requests.
    var tables: [String] = []

    var isEmpty: Bool { lists.isEmpty && tables.isEmpty }
}
