internal import LibPQ

/// Queries for the objects in schema `brocot` and their owners. They read only the system catalogs, so no code of the
/// checked objects runs.
extension MigrationQueries {
    /// Which other roles the current role trusts, so that it may run their code.
    enum Trust {
        /// Superusers, and roles that were granted to the current role. For migrations.
        case grantedRoles
        /// The same roles, and the owners of triggers' functions, except of triggers on the history. For reading, which fires no trigger and changes
        /// no row that a foreign key refers to.
        case grantedRolesAndTriggers
        /// For a superuser, as ``grantedRolesAndTriggers``. Any other role trusts all owners, because it got its rights from them.
        case everybodyUnlessSuperuser
    }

    /// The objects of every schema with their owners, for the table `object` of a WITH. Indexes belong to the owner of their table.
    static let ownedObjects = """
        SELECT 'pg_namespace'::regclass AS catalog, oid, nspowner AS owner, oid AS schema FROM pg_namespace
        UNION ALL
        SELECT 'pg_class'::regclass, oid, relowner, relnamespace FROM pg_class WHERE relkind NOT IN ('i', 'I')
        UNION ALL
        SELECT 'pg_proc'::regclass, oid, proowner, pronamespace FROM pg_proc
        UNION ALL
        SELECT 'pg_type'::regclass, oid, typowner, typnamespace FROM pg_type AS type
        WHERE typrelid = 0 AND typtype <> 'm'
            AND NOT EXISTS (SELECT FROM pg_type AS element WHERE element.typarray = type.oid)
        UNION ALL
        SELECT 'pg_operator'::regclass, oid, oprowner, oprnamespace FROM pg_operator
        UNION ALL
        SELECT 'pg_opclass'::regclass, oid, opcowner, opcnamespace FROM pg_opclass
        UNION ALL
        SELECT 'pg_opfamily'::regclass, oid, opfowner, opfnamespace FROM pg_opfamily
        UNION ALL
        SELECT 'pg_collation'::regclass, oid, collowner, collnamespace FROM pg_collation
        UNION ALL
        SELECT 'pg_conversion'::regclass, oid, conowner, connamespace FROM pg_conversion
        UNION ALL
        SELECT 'pg_statistic_ext'::regclass, oid, stxowner, stxnamespace FROM pg_statistic_ext
        UNION ALL
        SELECT 'pg_ts_config'::regclass, oid, cfgowner, cfgnamespace FROM pg_ts_config
        UNION ALL
        SELECT 'pg_ts_dict'::regclass, oid, dictowner, dictnamespace FROM pg_ts_dict
        """

    /// The foreign keys that change rows when a row to which they refer is deleted, or when a column to which they refer is changed: the two tables of
    /// each, and the columns. The server fires the triggers of such a row with the rights of the role that changed the other row.
    static let changingForeignKeys = """
        SELECT foreign_key.oid, foreign_key.conrelid AS referencing, foreign_key.confrelid AS referenced,
            foreign_key.confdeltype NOT IN ('a', 'r') AS acts_on_delete, foreign_key.confupdtype NOT IN ('a', 'r') AS acts_on_update,
            ARRAY(
                SELECT target.attname::text FROM pg_attribute AS target
                WHERE target.attrelid = foreign_key.confrelid AND target.attnum = ANY (foreign_key.confkey)
            ) AS columns
        FROM pg_constraint AS foreign_key
        WHERE foreign_key.contype = 'f'
            AND (foreign_key.confdeltype NOT IN ('a', 'r') OR foreign_key.confupdtype NOT IN ('a', 'r'))
        """

    /// Tables of other schemas with rows that change along with rows of schema `brocot`, each with a foreign key that leads to it; for a WITH RECURSIVE
    /// that contains ``changingForeignKeys``.
    private static let referencingTables = """
        referencing_table AS (
            SELECT key.referencing AS oid, key.oid AS key, target.relnamespace AS schema
            FROM changing_key AS key
            JOIN pg_class AS target ON target.oid = key.referenced
            JOIN pg_class AS other ON other.oid = key.referencing AND other.relnamespace <> target.relnamespace
            WHERE target.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'brocot')
            UNION
            SELECT further.child, coalesce(further.key, known.key), known.schema
            FROM referencing_table AS known
            JOIN (
                SELECT part.inhparent AS parent, part.inhrelid AS child, NULL::oid AS key FROM pg_inherits AS part
                UNION ALL
                SELECT key.referenced, key.referencing, key.oid FROM changing_key AS key
            ) AS further ON further.parent = known.oid
        )
        """

    /// The foreign keys with the owners of the referencing tables, and the functions of these tables' triggers, as further objects of schema `brocot`.
    private static let objectsOfReferencingTables = """
            UNION
            SELECT 'pg_constraint'::regclass, known.key, target.relowner, known.schema
            FROM referencing_table AS known JOIN pg_class AS target ON target.oid = known.oid
            UNION
            SELECT 'pg_trigger'::regclass, trigger.oid, function.proowner, known.schema
            FROM referencing_table AS known
            JOIN pg_trigger AS trigger ON trigger.tgrelid = known.oid AND NOT trigger.tgisinternal
            JOIN pg_proc AS function ON function.oid = trigger.tgfoid
        """

    static let isSuperuser: SQL = "SELECT role.rolsuper FROM pg_roles AS role WHERE role.rolname = current_user"

    /// The objects whose owners the current role does not trust, with their owners.
    ///
    /// The owner of an object that a migration uses can run code with the rights of the migrating role. So each owner must be
    /// the current role, a role that it is a member of, or a superuser. A trigger belongs to the owner of its function. A foreign key of a table
    /// of another schema counts too if it changes rows of that table along with rows of the schema.
    /// Before the first migration the schema must be empty; its own owner does not matter then.
    static func foreignObjects(trusting trust: Trust = .grantedRoles, isFirstRun: Bool) -> String {
        let reads = trust != .grantedRoles
        return """
            WITH RECURSIVE \(TrustedRoles.granted), changing_key AS (
                \(changingForeignKeys)
            ), \(referencingTables), object AS (
                \(ownedObjects)
                UNION ALL
                SELECT 'pg_trigger'::regclass, pg_trigger.oid, proowner, relnamespace
                FROM pg_trigger
                JOIN pg_class ON pg_class.oid = tgrelid\(reads ? " AND relname = 'schema_migrations'" : "")
                JOIN pg_proc ON pg_proc.oid = tgfoid
                WHERE NOT tgisinternal\(reads ? "" : "\n" + objectsOfReferencingTables)
            )
            -- A hostile role may have chosen these names. A line feed in a name would forge a line of the message.
            SELECT regexp_replace(identified.type || ' ' || identified.identity, '[[:cntrl:]]', '?', 'g') AS name,
                regexp_replace(owner.rolname::text, '[[:cntrl:]]', '?', 'g') AS owner
            FROM object
            JOIN pg_roles AS owner ON owner.oid = object.owner
            CROSS JOIN LATERAL pg_identify_object(object.catalog, object.oid, 0) AS identified
            WHERE object.schema = (SELECT oid FROM pg_namespace WHERE nspname = 'brocot')
                AND (\(isFirstRun ? "object.catalog <> 'pg_namespace'::regclass OR " : "")NOT owner.rolsuper
                    AND NOT EXISTS (SELECT FROM granted WHERE granted.oid = owner.oid))
            ORDER BY object.catalog <> 'pg_namespace'::regclass, name
            """
    }

    /// For scripts, before the first migration: a statement that raises an error if the current role, or one
    /// that it is a member of, has applied migrations already.
    static let refuseOwnSchema = """
        DO $$
        BEGIN
            IF EXISTS (
                WITH RECURSIVE \(TrustedRoles.granted)
                SELECT FROM pg_class AS history
                JOIN pg_namespace AS space ON space.oid = history.relnamespace
                JOIN granted ON granted.oid = history.relowner
                WHERE space.nspname = 'brocot' AND history.relname = 'schema_migrations'
            ) THEN
                RAISE EXCEPTION 'schema brocot exists already'
                    USING ERRCODE = 'object_not_in_prerequisite_state',
                          HINT = 'Run brocot migrate up, and mark this migration as applied.';
            END IF;
        END
        $$;
        """

    /// The same check as ``foreignObjects(trusting:isFirstRun:)`` for scripts: a statement that raises an error with the objects' names.
    static func refuseForeignObjects(isFirstRun: Bool) -> String {
        """
        DO $$
        DECLARE
            found text;
        BEGIN
            SELECT string_agg(format('%s of role %I', foreign_object.name, foreign_object.owner), ', ') INTO found
            FROM (
        \(foreignObjects(isFirstRun: isFirstRun))
            ) AS foreign_object;
            IF found IS NOT NULL THEN
                RAISE EXCEPTION 'schema brocot is not only of this role: %', found
                    USING ERRCODE = 'object_not_in_prerequisite_state',
                          HINT = 'Drop what is not yours. Log in as the role that owns the schema, or grant it to this one, if you trust it.';
            END IF;
        END
        $$;
        """
    }
}
