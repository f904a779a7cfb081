internal import LibPQ

extension MigrationQueries {
    /// What in these tables can run code of a role that a superuser does not trust, with the role, and the superuser's name: the
    /// tables with their partitions, the types of their columns, foreign keys that change rows of other tables along with theirs, and the functions of
    /// the triggers. There are no rows unless the current role is a superuser.
    ///
    /// The query reads the system catalogs and `brocot.ordered_tables` only, so no code of the checked objects runs. A relation that
    /// took the name of a dropped table counts, whatever it is.
    static func foreignTables(_ tables: UsedTables) -> SQL {
        """
        WITH RECURSIVE \(unsafeRaw: TrustedRoles.granted), changing_key AS (
            \(unsafeRaw: changingForeignKeys)
        ), relation AS (
            SELECT target.oid, NULL::oid AS key, wanted.deletes, wanted.changed
            FROM (\(tables.names)) AS wanted (schema_name, table_name, deletes, changed)
            JOIN pg_namespace AS namespace ON namespace.nspname = wanted.schema_name::name
            JOIN pg_class AS target
                ON target.relnamespace = namespace.oid AND target.relname = wanted.table_name::name
            UNION
            SELECT further.child, coalesce(further.key, relation.key), further.key IS NOT NULL OR relation.deletes,
                CASE WHEN further.key IS NULL THEN relation.changed END
            FROM relation
            JOIN (
                SELECT part.inhparent AS parent, part.inhrelid AS child, NULL::oid AS key, NULL::boolean AS acts_on_delete,
                    NULL::boolean AS acts_on_update, NULL::text[] AS columns
                FROM pg_inherits AS part
                UNION ALL
                SELECT key.referenced, key.referencing, key.oid, key.acts_on_delete, key.acts_on_update, key.columns
                FROM changing_key AS key
            ) AS further ON further.parent = relation.oid
                AND (further.key IS NULL OR further.acts_on_delete AND relation.deletes
                    OR further.acts_on_update AND (relation.changed IS NULL OR further.columns && relation.changed))
        ), type AS (
            SELECT stored.atttypid AS oid
            FROM relation
            JOIN pg_attribute AS stored ON stored.attrelid = relation.oid AND stored.attnum > 0 AND NOT stored.attisdropped
            WHERE relation.key IS NULL
            UNION
            SELECT inner_type.oid
            FROM type
            JOIN pg_type AS self ON self.oid = type.oid
            CROSS JOIN LATERAL (VALUES (self.typbasetype), (self.typelem)) AS inner_type (oid)
            WHERE inner_type.oid <> 0
        ), object AS (
            SELECT 'pg_class'::regclass AS catalog, target.oid, target.relowner AS owner
            FROM relation JOIN pg_class AS target ON target.oid = relation.oid WHERE relation.key IS NULL
            UNION
            SELECT 'pg_constraint'::regclass, relation.key, target.relowner
            FROM relation JOIN pg_class AS target ON target.oid = relation.oid WHERE relation.key IS NOT NULL
            UNION
            SELECT 'pg_type'::regclass, self.oid, self.typowner FROM type JOIN pg_type AS self ON self.oid = type.oid
            WHERE NOT EXISTS (SELECT FROM pg_type AS element WHERE element.typarray = self.oid)
            UNION
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
