/// A kind of ordered table, as far as moves differ.
package enum TableKind: String, Sendable, CaseIterable {
    /// `brocot.items`.
    case builtIn
    /// A table of the user's with columns in place, some of whose rows count for no position.
    case attached
    /// A join table of the user's, whose rows are inserted and deleted by moves.
    case owning

    package var ownsRows: Bool { self != .attached }

    /// Whether rows can be without a rank.
    package var hasUnplacedRows: Bool { self != .builtIn }

    /// What requests call a table of this kind.
    package var name: String { self == .builtIn ? "items" : "public.\(rawValue)" }
}
