internal import LibPQ

extension MigrationQueries {
    /// What in these tables can run code of a role that a superuser does not trust, with the role, and the superuser's name: the
    /// tables with their partitions, tables with rows that a foreign key changes along with theirs, the types of their columns, and the functions
    /// of their triggers. There are no rows unless the current role is a superuser.
    ///
    /// The query reads the system catalogs and `brocot.ordered_tables` only, so no code of the checked objects runs. A relation that
    /// took the name of a dropped table counts, whatever it is.
    static func foreignTables(_ tables: UsedTables) -> SQL {
        """
        WITH RECURSIVE \(unsafeRaw: TrustedRoles.granted), changing_key AS (
            \(unsafeRaw: changingForeignKeys)
        ), relation AS (
            SELECT target.oid
            FROM (\(tables.names)) AS wanted (schema_name, table_name)
            JOIN pg_namespace AS namespace ON namespace.nspname = wanted.schema_name::name
            JOIN pg_class AS target
                ON target.relnamespace = namespace.oid AND target.relname = wanted.table_name::name
            UNION
            SELECT further.oid
            FROM relation
            CROSS JOIN LATERAL (
                SELECT part.inhrelid FROM pg_inherits AS part WHERE part.inhparent = relation.oid
                UNION ALL
                SELECT key.referencing FROM changing_key AS key WHERE key.referenced = relation.oid
            ) AS further (oid)
        ), type AS (
            SELECT stored.atttypid AS oid
            FROM relation
            JOIN pg_attribute AS stored ON stored.attrelid = relation.oid AND stored.attnum > 0 AND NOT stored.attisdropped
            UNION
            SELECT inner_type.oid
            FROM type
            JOIN pg_type AS self ON self.oid = type.oid
            CROSS JOIN LATERAL (VALUES (self.typbasetype), (self.typelem)) AS inner_type (oid)
            WHERE inner_type.oid <> 0
        ), object AS (
            SELECT 'pg_class'::regclass AS catalog, target.oid, target.relowner AS owner
            FROM relation JOIN pg_class AS target ON target.oid = relation.oid
            UNION ALL
            SELECT 'pg_type'::regclass, self.oid, self.typowner FROM type JOIN pg_type AS self ON self.oid = type.oid
            WHERE NOT EXISTS (SELECT FROM pg_type AS element WHERE element.typarray = self.oid)
            UNION ALL
            SELECT 'pg_trigger'::regclass, trigger.oid, function.proowner
            FROM relation
            JOIN pg_trigger AS trigger ON trigger.tgrelid = relation.oid AND NOT trigger.tgisinternal
            JOIN pg_proc AS function ON function.oid = trigger.tgfoid
        )
        -- A hostile role may have chosen these names. A line feed in a name would forge a line of the message.
        SELECT regexp_replace(identified.type || ' ' || identified.identity, '[[:cntrl:]]', '?', 'g') AS name,
            regexp_replace(owner.rolname::text, '[[:cntrl:]]', '?', 'g') AS owner, current_user::text
        FROM object
        JOIN pg_roles AS owner ON owner.oid = object.owner
        CROSS JOIN LATERAL pg_identify_object(object.catalog, object.oid, 0) AS identified
        WHERE NOT owner.rolsuper AND NOT EXISTS (SELECT FROM granted WHERE granted.oid = owner.oid)
            AND (\(isSuperuser))
        ORDER BY object.catalog <> 'pg_class'::regclass, name
        """
    }
}
