internal import LibPQ

/// The tables of users that a command uses.
package enum UsedTables: Sendable {
    /// The tables of schema `brocot`: writing them fires their triggers.
    case ofBrocot
    /// All ordered tables, also the built-in one.
    case all
    /// All attached tables.
    case attached
    /// The attached table of the order with this name, if there is one.
    case order(String)
    /// A table that need not be attached yet.
    case table(schema: String, name: String)

    /// A query for the schemas and names of the tables.
    var names: SQL {
        switch self {
        case .ofBrocot:
            """
            SELECT 'brocot', target.relname::text FROM pg_class AS target
            WHERE target.relnamespace = to_regnamespace('brocot') AND target.relkind IN ('r', 'p')
            """
        case .all: "SELECT registered.schema_name, registered.table_name FROM brocot.ordered_tables AS registered"
        case .attached:
            """
            SELECT registered.schema_name, registered.table_name FROM brocot.ordered_tables AS registered
            WHERE registered.schema_name <> 'brocot'
            """
        case .order(let name):
            """
            SELECT registered.schema_name, registered.table_name FROM brocot.ordered_tables AS registered
            WHERE registered.name = \(name) AND registered.schema_name <> 'brocot'
            """
        case .table(let schema, let name): "SELECT \(schema)::text, \(name)::text"
        }
    }
}
