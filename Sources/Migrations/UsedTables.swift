internal import LibPQ

/// The tables of users that a command uses.
package enum UsedTables: Sendable {
    /// The tables of schema `brocot`: writing them fires their triggers.
    case ofBrocot
    /// All ordered tables, also the built-in one, for a daemon, which also takes rows to other lists and deletes rows.
    case all
    /// All attached tables.
    case attached
    /// The attached table of the order with this name, if there is one.
    case order(String)
    /// A table that need not be attached yet.
    case table(schema: String, name: String)

    /// A query for the schemas and names of the tables, whether the command deletes their rows, and the columns that it changes and to which a foreign
    /// key may refer; NULL means all columns. A command that reads the tables, or writes only ranks, changes none.
    var names: SQL {
        let columns: SQL = "registered.schema_name, registered.table_name"
        switch self {
        case .ofBrocot:
            return """
                SELECT 'brocot', target.relname::text, true, NULL::text[] FROM pg_class AS target
                WHERE target.relnamespace = to_regnamespace('brocot') AND target.relkind IN ('r', 'p')
                """
        case .all:
            return """
                SELECT \(columns), registered.owns_rows OR registered.schema_name = 'brocot', registered.list_columns::text[]
                FROM brocot.ordered_tables AS registered
                """
        case .attached:
            return """
                SELECT \(columns), false, '{}'::text[] FROM brocot.ordered_tables AS registered
                WHERE registered.schema_name <> 'brocot'
                """
        case .order(let name):
            return """
                SELECT \(columns), false, '{}'::text[] FROM brocot.ordered_tables AS registered
                WHERE registered.name = \(name) AND registered.schema_name <> 'brocot'
                """
        case .table(let schema, let name): return "SELECT \(schema)::text, \(name)::text, false, '{}'::text[]"
        }
    }
}
