/// A transaction's isolation level and access mode. BEGIN always states them, because the default of a server or role may
/// differ.
package struct TransactionMode: Sendable {
    private let level: String
    let isReadOnly: Bool
    /// A statement that changes the `search_path`, which is sent together with BEGIN.
    let searchPath: String?

    /// The clause that follows BEGIN.
    var clause: String { "ISOLATION LEVEL \(level) READ \(isReadOnly ? "ONLY" : "WRITE")" }

    /// Each statement sees what was committed before it began. The transaction may write. The `search_path` keeps the
    /// session's schemas, because users' triggers may need them. So each operator and function must have exactly the
    /// types of its arguments, or be qualified: see docs/decisions/pg-catalog-first.md.
    package static let readCommitted = TransactionMode(
        level: "READ COMMITTED", isReadOnly: false,
        searchPath: "SELECT \(SearchPath.putSystemCatalogFirstAndTemporaryLast.text)")
    /// The same, for sessions in which triggers of users fire. A trigger may have changed the session's `search_path`, or have taken
    /// advisory locks of the session. The next transaction undoes both, so that they don't reach other users' tables.
    package static let readCommittedAfterTriggers = TransactionMode(
        level: readCommitted.level, isReadOnly: false,
        searchPath: """
            RESET search_path; SELECT \(SearchPath.putSystemCatalogFirstAndTemporaryLast.text), \
            pg_catalog.pg_advisory_unlock_all()
            """)
    /// The same as ``readCommitted``, but only `pg_catalog` is searched. For statements that fire no trigger of a user.
    package static let readCommittedInSystemCatalog = TransactionMode(
        level: readCommitted.level, isReadOnly: false, searchPath: SearchPath.setSystemCatalogOnly)
    /// All statements see one snapshot. The transaction can't write. Only `pg_catalog` is searched, because no trigger
    /// fires.
    package static let repeatableReadOnly = TransactionMode(
        level: "REPEATABLE READ", isReadOnly: true, searchPath: SearchPath.setSystemCatalogOnly)
    /// For statements of the library's user: like ``readCommitted``, but the session's `search_path` stays unchanged and
    /// no snapshot is taken yet, so the first statement may still choose another isolation level.
    package static let callersReadCommitted = TransactionMode(
        level: readCommitted.level, isReadOnly: false, searchPath: nil)
}
