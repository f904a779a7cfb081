/// A kind of ordered table. Moves differ between these kinds.
package enum TableKind: String, Sendable, CaseIterable {
    /// `brocot.items`.
    case builtIn
    /// A table of the user with rank columns, some of whose rows are hidden.
    case attached
    /// A join table of the user. Moves insert and delete its rows.
    case owning

    package var ownsRows: Bool { self != .attached }

    /// Whether rows can be without a rank.
    package var hasUnplacedRows: Bool { self != .builtIn }

    /// The name of a table of this kind in requests.
    package var name: String { self == .builtIn ? "items" : "public.\(rawValue)" }
}
