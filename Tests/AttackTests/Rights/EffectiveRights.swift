import LibPQ

/// What the server lets a role do with each object of schema `brocot`.
enum EffectiveRights {
    /// The privileges by object, such as `table brocot.items`, in the order of their names. An object with which the role
    /// may do nothing has none. A column is listed only for what the role may not do with the whole table.
    static func read(of role: String, on connection: Connection) async throws -> [String: [String]] {
        var rights: [String: [String]] = [:]
        for row in try await connection.query(statement(role)) {
            rights[try row.decode(0), default: []] += try row.decode(1, as: String?.self).map { [$0] } ?? []
        }
        return rights
    }

    /// Without USAGE on the schema, nothing in it can be used.
    private static func statement(_ role: String) -> SQL {
        """
        WITH subject AS (
            SELECT \(role)::name AS role, 'brocot'::regnamespace AS schema,
                has_schema_privilege(\(role)::name, 'brocot', 'USAGE') AS enters
        ), object AS (
            SELECT 'schema brocot' AS name, privilege, has_schema_privilege(role, schema, privilege) AS is_held
            FROM subject, unnest('{CREATE,USAGE}'::text[]) AS privilege
            UNION ALL
            SELECT 'table ' || oid::regclass, privilege, enters AND has_table_privilege(role, oid, privilege)
            FROM subject JOIN pg_class ON relnamespace = schema AND relkind IN ('r', 'p', 'v', 'm', 'f'),
                unnest('{DELETE,INSERT,REFERENCES,SELECT,TRIGGER,TRUNCATE,UPDATE}'::text[]) AS privilege
            UNION ALL
            SELECT 'column ' || pg_class.oid::regclass || '.' || attname, privilege, true
            FROM subject JOIN pg_class ON relnamespace = schema AND relkind IN ('r', 'p', 'v', 'm', 'f')
            JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped,
                unnest('{INSERT,REFERENCES,SELECT,UPDATE}'::text[]) AS privilege
            WHERE enters AND has_column_privilege(role, pg_class.oid, attname, privilege)
                AND NOT has_table_privilege(role, pg_class.oid, privilege)
            UNION ALL
            SELECT 'sequence ' || oid::regclass, privilege, enters AND has_sequence_privilege(role, oid, privilege)
            FROM subject JOIN pg_class ON relnamespace = schema AND relkind = 'S',
                unnest('{SELECT,UPDATE,USAGE}'::text[]) AS privilege
            UNION ALL
            SELECT 'routine ' || oid::regprocedure, privilege, enters AND has_function_privilege(role, oid, privilege)
            FROM subject JOIN pg_proc ON pronamespace = schema, unnest('{EXECUTE}'::text[]) AS privilege
            UNION ALL
            SELECT 'type ' || type.oid::regtype, privilege, enters AND has_type_privilege(role, type.oid, privilege)
            FROM subject JOIN pg_type AS type ON typnamespace = schema
                AND NOT EXISTS (SELECT FROM pg_type AS element WHERE element.typarray = type.oid)
                AND NOT EXISTS (SELECT FROM pg_class WHERE pg_class.oid = typrelid AND relkind <> 'c'),
                unnest('{USAGE}'::text[]) AS privilege
            UNION ALL
            SELECT 'operator ' || oid::regoperator, NULL, false FROM subject JOIN pg_operator ON oprnamespace = schema
        )
        SELECT name, CASE WHEN is_held THEN privilege END FROM object ORDER BY name, privilege
        """
    }
}
