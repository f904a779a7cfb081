import LibPQ

/// The SQL statements about rights.
enum AccessStatements {
    /// The current role.
    static let currentRole: SQL = "SELECT current_user::pg_catalog.text"

    /// The role that logged in. The server takes the settings of this role.
    static let loginRole: SQL = "SELECT session_user::pg_catalog.text"

    /// The condition that a role may delete rows of a table, or may take a role with SET ROLE that was granted this right: a login role may have `SET
    /// role` as a setting, and inherit nothing. With many roles, `has_table_privilege` for each of them would take seconds.
    ///
    /// - Parameters:
    ///   - table: The table's name with its schema.
    ///   - role: The expression of the role's number.
    /// - Returns: The condition in parentheses.
    static func mayDelete(from table: String, role: SQL) -> SQL {
        """
        (pg_catalog.has_table_privilege(\(role), \(literal: table), 'DELETE') OR EXISTS (
            SELECT FROM pg_catalog.pg_class AS relation
            CROSS JOIN LATERAL pg_catalog.aclexplode(relation.relacl) AS given
            WHERE relation.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(\(literal: table))
                AND given.privilege_type OPERATOR(pg_catalog.=) 'DELETE'
                AND CASE WHEN given.grantee OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
                    THEN pg_catalog.pg_has_role(\(role), given.grantee, 'MEMBER') END))
        """
    }

    /// The columns that an order's condition of visibility names. If a word of the condition is also the name of another column, that
    /// column is listed too. In the registry, names are in quotes only where they need quotes, whatever the session's settings.
    static func visibilityColumns(of name: String) -> SQL {
        """
        SELECT stored.attname::text
        FROM brocot.ordered_tables AS registered
        JOIN pg_catalog.pg_attribute AS stored ON stored.attrelid = \(SQL.registeredRelation)
        WHERE registered.name = \(name) AND stored.attnum > 0 AND NOT stored.attisdropped
            AND (stored.attname ~ '^[a-z_][a-z0-9_]*$'
                    AND registered.visible ~ ('(^|[^a-z0-9_$"])' || stored.attname || '($|[^a-z0-9_$"])')
                OR pg_catalog.strpos(
                    registered.visible, '"' || pg_catalog.replace(stored.attname::text, '"', '""') || '"') > 0)
        ORDER BY stored.attnum
        """
    }

    /// The schemas of the types of an order's key columns, and of the types, functions, operators and collations that its condition of
    /// visibility names, without the table's schema. A statement that names something in a schema needs the right to use this schema.
    ///
    /// The registry has the condition as the server printed it, with only `pg_catalog` in the `search_path`. So the schema stands before each
    /// name, and nothing else stands before a dot but schemas, parentheses and digits. Literals are skipped. What the bodies of the named
    /// functions use is not looked at.
    static func namedSchemas(of name: String) -> SQL {
        """
        SELECT DISTINCT space.nspname::text
        FROM brocot.ordered_tables AS registered
        CROSS JOIN LATERAL (
            SELECT type.typnamespace
            FROM pg_catalog.pg_attribute AS stored
            JOIN pg_catalog.pg_type AS type ON type.oid = stored.atttypid
            WHERE stored.attrelid = \(SQL.registeredRelation)
                AND stored.attname = ANY ((registered.list_columns || registered.item_column)::name[])
            UNION
            SELECT present.oid
            FROM pg_catalog.regexp_matches(registered.visible, \(qualifierOrLiteral), 'g') AS found (words)
            JOIN pg_catalog.pg_namespace AS present ON present.nspname = (pg_catalog.parse_ident(found.words[1]))[1]::name
        ) AS named (schema)
        JOIN pg_catalog.pg_namespace AS space ON space.oid = named.schema
        WHERE registered.name = \(name) AND space.nspname NOT IN ('pg_catalog', 'information_schema')
            AND space.nspname <> registered.schema_name
        ORDER BY 1
        """
    }

    /// A name before a dot, or else a literal or a quoted name. Only the first of them is captured.
    private static let qualifierOrLiteral = #"'(?:[^']|'')*'|("(?:[^"]|"")+"|[a-z_][a-z0-9_$]*)[.]|"(?:[^"]|"")+""#

    /// Whether the current role has one of the characteristic rights of a daemon: see ``grantees``.
    static let isDaemon: SQL = """
        SELECT coalesce(bool_or(CASE relation.relname
            WHEN 'sleepers' THEN pg_catalog.has_sequence_privilege(relation.oid, 'UPDATE')
            ELSE pg_catalog.has_table_privilege(relation.oid, 'DELETE') END)
            AND NOT bool_or(pg_catalog.pg_has_role(relation.relowner, 'USAGE')), false)
        FROM pg_catalog.pg_class AS relation
        WHERE relation.relnamespace = pg_catalog.to_regnamespace('brocot')
            AND relation.relname IN ('move_requests', 'sleepers')
        """

    /// Whether the current role owns Brocot's tables, and is no superuser.
    static let ownsSchema: SQL = """
        SELECT NOT owner.rolsuper
        FROM pg_catalog.pg_class AS registry
        JOIN pg_catalog.pg_roles AS owner ON owner.oid = registry.relowner
        WHERE registry.oid = \(SQL.relation(schema: "'brocot'", name: "'ordered_tables'")) AND owner.rolname = current_user
        """

    /// The owner of schema brocot, and of the registry; NULL as the owner of a missing registry, no row without the schema. All names have their
    /// schema, because the statement runs outside of a transaction.
    static let owners: SQL = """
        SELECT pg_catalog.pg_get_userbyid(space.nspowner)::pg_catalog.text, pg_catalog.pg_get_userbyid(registry.relowner)::pg_catalog.text
        FROM pg_catalog.pg_namespace AS space
        LEFT JOIN pg_catalog.pg_class AS registry
            ON registry.relnamespace OPERATOR(pg_catalog.=) space.oid
            AND registry.relname OPERATOR(pg_catalog.=) 'ordered_tables'::pg_catalog.name
        WHERE space.nspname OPERATOR(pg_catalog.=) 'brocot'::pg_catalog.name
        """

    /// Whether the current role may create schemas in the database.
    static let mayCreateSchemas: SQL =
        "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')"

    /// The roles with the characteristic right of a kind, each with its kinds: a role that may delete requests, or set the sleep flag, is a
    /// daemon. Without these rights, a role that may insert requests is a requester, and one that may insert into the log is a mover; it may be
    /// both. A role that may only read items is a reader. Daemons come first, because other checks look for all of them. One row more than
    /// ``AccessGrants/mostRolesChecked`` says that there are more.
    static let grantees: SQL = """
        WITH given AS (
            SELECT acl.grantee, acl.privilege_type, relation.relname, relation.relowner
            FROM pg_catalog.pg_class AS relation
            CROSS JOIN LATERAL pg_catalog.aclexplode(relation.relacl) AS acl
            WHERE relation.relnamespace = pg_catalog.to_regnamespace('brocot')
                AND relation.relname IN ('move_requests', 'move_log', 'items', 'sleepers')
            UNION ALL
            SELECT acl.grantee, acl.privilege_type, relation.relname, relation.relowner
            FROM pg_catalog.pg_attribute AS attribute
            JOIN pg_catalog.pg_class AS relation ON relation.oid = attribute.attrelid
            CROSS JOIN LATERAL pg_catalog.aclexplode(attribute.attacl) AS acl
            WHERE relation.relnamespace = pg_catalog.to_regnamespace('brocot')
                AND relation.relname IN ('move_requests', 'move_log') AND acl.privilege_type = 'INSERT'
        ), judged AS (
            SELECT role.rolname,
                bool_or(given.relname = 'move_requests' AND given.privilege_type = 'DELETE'
                    OR given.relname = 'sleepers') AS is_daemon,
                bool_or(given.relname = 'move_requests' AND given.privilege_type = 'INSERT') AS is_requester,
                bool_or(given.relname = 'move_log' AND given.privilege_type = 'INSERT') AS is_mover,
                bool_or(given.relname = 'items' AND given.privilege_type = 'SELECT') AS reads_items
            FROM given
            JOIN pg_catalog.pg_roles AS role ON role.oid = given.grantee
            WHERE given.grantee <> given.relowner AND NOT role.rolsuper
                AND (given.relname = 'move_requests' OR given.privilege_type = 'SELECT' AND given.relname = 'items'
                    OR given.privilege_type = 'INSERT' AND given.relname = 'move_log'
                    OR given.privilege_type = 'UPDATE' AND given.relname = 'sleepers')
            GROUP BY role.rolname
        )
        SELECT kind.name, judged.rolname
        FROM judged
        CROSS JOIN LATERAL (VALUES
            ('daemon', judged.is_daemon), ('requester', judged.is_requester AND NOT judged.is_daemon),
            ('mover', judged.is_mover AND NOT judged.is_daemon),
            ('reader', judged.reads_items AND NOT (judged.is_daemon OR judged.is_requester OR judged.is_mover))
        ) AS kind (name, is_kind)
        WHERE kind.is_kind
        ORDER BY kind.name <> 'daemon', judged.rolname, kind.name
        LIMIT \(AccessGrants.mostRolesChecked + 1)
        """

    /// The tables whose policies apply to a role, nil for the current one: Brocot's own tables and, if requested, the registered ones.
    static func restrictedTables(withRegistered: Bool, for role: String?) -> SQL {
        // The server decides so for the current role, in `check_enable_rls`.
        let applies: SQL =
            role.map { role -> SQL in
                """
                EXISTS (
                    SELECT FROM pg_catalog.pg_roles AS subject
                    WHERE subject.rolname = \(role) AND NOT subject.rolsuper AND NOT subject.rolbypassrls
                        AND (relation.relforcerowsecurity
                            OR NOT pg_catalog.pg_has_role(subject.oid, relation.relowner, 'USAGE')))
                """
            } ?? "pg_catalog.row_security_active(relation.oid)"
        return """
            SELECT pg_catalog.format('%I.%I', namespace.nspname, relation.relname) AS name
            FROM pg_catalog.pg_class AS relation
            JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
            WHERE relation.relrowsecurity AND relation.relkind IN ('r', 'p')
                AND (namespace.nspname = 'brocot'
                    OR \(withRegistered) AND EXISTS (
                        SELECT FROM brocot.ordered_tables AS registered
                        WHERE registered.schema_name = namespace.nspname AND registered.table_name = relation.relname))
                AND \(applies)
            ORDER BY name
            """
    }

    /// The table of an order, if its policies apply to the current role; otherwise no row.
    static func restrictedTable(of order: String) -> SQL {
        """
        SELECT pg_catalog.format('%I.%I', registered.schema_name, registered.table_name)
        FROM brocot.ordered_tables AS registered
        WHERE registered.name OPERATOR(pg_catalog.=) \(order)
            AND pg_catalog.row_security_active(\(SQL.registeredRelation))
        """
    }

    /// The names for which there is no role.
    static func unknownRoles(_ names: [String]) -> SQL {
        """
        SELECT wanted.name FROM unnest(\(names)) AS wanted (name)
        WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS role WHERE role.rolname = wanted.name)
        ORDER BY wanted.name
        """
    }

    /// The numbers of the privileges that a role lacks, in their order; nil means the current role.
    static func missingPrivileges(_ privileges: [RequiredPrivilege], for role: String?) -> SQL {
        let name: SQL = "pg_catalog.parse_ident(wanted.object)"
        let relation = SQL.relation(schema: "(\(name))[1]", name: "(\(name))[2]")
        return """
            WITH wanted AS (
                SELECT *, CASE WHEN wanted.kind IN ('table', 'sequence') THEN \(relation) END AS relation FROM unnest(
                    \(privileges.map(\.kind)), \(privileges.map(\.object)), \(privileges.map(\.privilege)), \(privileges.map(\.column)))
                    WITH ORDINALITY AS wanted (kind, object, privilege, column_name, number)
            ), subject AS (
                SELECT coalesce(nullif(\(role ?? "")::text, '')::name, current_user) AS name
            )
            SELECT wanted.number - 1
            FROM wanted CROSS JOIN subject
            WHERE NOT CASE
                WHEN wanted.kind = 'schema' THEN
                    pg_catalog.has_schema_privilege(subject.name, wanted.object::regnamespace, wanted.privilege)
                WHEN wanted.kind = 'routine' THEN
                    pg_catalog.has_function_privilege(subject.name, wanted.object::regprocedure, wanted.privilege)
                WHEN wanted.kind = 'sequence' THEN
                    pg_catalog.has_sequence_privilege(subject.name, wanted.relation, wanted.privilege)
                WHEN wanted.column_name IS NOT NULL THEN
                    pg_catalog.has_column_privilege(
                        subject.name, wanted.relation, wanted.column_name, wanted.privilege)
                ELSE pg_catalog.has_table_privilege(subject.name, wanted.relation, wanted.privilege)
            END
            ORDER BY wanted.number
            """
    }
}
