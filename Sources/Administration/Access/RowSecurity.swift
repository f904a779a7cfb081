import LibPQ

/// Finds row-level security that hides rows from a role, mainly from the daemon's.
///
/// The daemon must see every row: a hidden request would never be applied, and a hidden item would lead to wrong places. So it
/// runs with `row_security = off`, and the server refuses each statement that a policy would restrict.
package enum RowSecurity {
    package enum Tables: Sendable {
        /// The tables in schema `brocot`.
        case builtIn
        /// The tables in schema `brocot` and every registered table.
        case all
    }

    package static let advice = """
        Give the daemon's role BYPASSRLS (ALTER ROLE … BYPASSRLS), or run ALTER TABLE … NO FORCE ROW LEVEL SECURITY if the role \
        owns the table. See "Row-level security" in docs/operations.md.
        """

    /// The tables, as `schema.table`, whose policies apply to a role; nil means the current role.
    package static func hidden(
        _ tables: Tables, from role: String? = nil, on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        try connection.query(AccessStatements.restrictedTables(withRegistered: tables == .all, for: role)).map {
            row throws(PostgresError) in try row.decode(0)
        }
    }

    /// The table of an order, as `schema.table`, if policies may hide rows of it from the current role; otherwise nil.
    package static func restrictedTable(
        of order: String, on connection: isolated Connection
    ) throws(PostgresError) -> String? {
        try connection.query(AccessStatements.restrictedTable(of: order)).first?.decode(0)
    }

    package static func description(of hidden: [String], from role: String? = nil) -> String {
        """
        row-level security applies to \(role ?? "this role") on \(hidden.joined(separator: ", ")), and the daemon must see every row
        """
    }
}
