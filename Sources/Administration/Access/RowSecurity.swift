import LibPQ

/// Finds row-level security that hides rows from the daemon's role.
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

    /// The tables, as `schema.table`, whose policies apply to the current role.
    package static func hidden(
        _ tables: Tables, on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        var hidden: [String] = []
        for row in try connection.query(AccessStatements.restrictedTables(withRegistered: tables == .all)) {
            hidden.append(try row.decode(0))
        }
        return hidden
    }

    package static func description(of hidden: [String]) -> String {
        "row-level security applies to this role on \(hidden.joined(separator: ", ")), and the daemon must see every row"
    }
}
