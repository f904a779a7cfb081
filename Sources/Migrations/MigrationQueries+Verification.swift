internal import LibPQ

extension MigrationQueries {
    /// Renames the schema until the transaction rolls back. No other session sees the new name or waits for it.
    static let moveSchemaAside = "ALTER SCHEMA brocot RENAME TO brocot_before_verification"

    /// Creates each routine again whose body the server stores parsed (`BEGIN ATOMIC`, `RETURN`), from the text that the
    /// server prints for it. `pg_dump` and `pg_restore` do the same, and afterwards the server prints the body with other
    /// aliases. Creating the routine once more changes nothing further.
    static let restoreRoutines = """
        DO $$
        DECLARE
            definition text;
        BEGIN
            FOR definition IN
                SELECT pg_get_functiondef(oid) FROM pg_proc
                WHERE pronamespace = to_regnamespace('brocot') AND prosqlbody IS NOT NULL
            LOOP
                EXECUTE definition;
            END LOOP;
        END
        $$
        """

    /// Every object in the schema that can change the program's behaviour, with its definition. Comments, rights and storage
    /// settings are left out, because administrators may change them; `pg_get_indexdef` prints those of an index.
    ///
    /// The order of columns counts only in composite types, whose values are written without names.
    ///
    /// NOT NULL is read from the columns, because it is a constraint only since PostgreSQL 18. For triggers, rules and
    /// policies, `owner` is the role whose code they run; for other objects it is NULL.
    static let objects: SQL = """
        WITH relations AS (
            SELECT oid, relname, relkind, relpersistence, pg_get_userbyid(relowner)::text AS owner
            FROM pg_class
            WHERE relnamespace = to_regnamespace('brocot') AND relkind IN ('r', 'p', 'v', 'm', 'c')
        )
        SELECT CASE relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'c' THEN 'type' ELSE 'table' END
                || ' brocot.' || relname AS name,
            concat_ws(' ', relkind::text || relpersistence::text, CASE
                WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(oid)
                WHEN relkind = 'c' THEN (
                    SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute
                    WHERE attrelid = oid AND attnum > 0 AND NOT attisdropped)
            END) AS definition,
            NULL AS owner
        FROM relations
        UNION ALL
        SELECT 'sequence brocot.' || relname,
            concat_ws(' ', relpersistence, seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle),
            NULL
        FROM pg_class
        JOIN pg_sequence ON seqrelid = oid
        WHERE relnamespace = to_regnamespace('brocot')
        UNION ALL
        SELECT 'column brocot.' || relname || '.' || attname,
            concat_ws(' ', format_type(atttypid, atttypmod), attcollation::regcollation, attnotnull, attidentity,
                attgenerated, pg_get_expr(adbin, adrelid)),
            NULL
        FROM relations
        JOIN pg_attribute ON attrelid = relations.oid AND attnum > 0 AND NOT attisdropped
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        UNION ALL
        SELECT 'constraint ' || conname || ' on brocot.' || relname,
            concat_ws(' ', pg_get_constraintdef(pg_constraint.oid), convalidated), NULL
        FROM relations
        JOIN pg_constraint ON conrelid = relations.oid AND contype <> 'n'
        UNION ALL
        SELECT 'domain brocot.' || typname, concat_ws(' ', format_type(typbasetype, typtypmod), typnotnull, typdefault), NULL
        FROM pg_type
        WHERE typnamespace = to_regnamespace('brocot') AND typtype = 'd'
        UNION ALL
        SELECT 'constraint ' || conname || ' on domain brocot.' || typname,
            concat_ws(' ', pg_get_constraintdef(pg_constraint.oid), convalidated), NULL
        FROM pg_type
        JOIN pg_constraint ON contypid = pg_type.oid AND contype <> 'n'
        WHERE typnamespace = to_regnamespace('brocot')
        UNION ALL
        SELECT 'index ' || indexrelid::regclass,
            concat_ws(' ', regexp_replace(pg_get_indexdef(indexrelid), ' WITH \\([^()]*\\)( WHERE |$)', '\\1'), indisvalid), NULL
        FROM relations
        JOIN pg_index ON indrelid = relations.oid
        WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
        UNION ALL
        SELECT 'trigger ' || tgname || ' on brocot.' || relname,
            concat_ws(' ', pg_get_triggerdef(pg_trigger.oid), tgenabled), pg_get_userbyid(proowner)::text
        FROM relations
        JOIN pg_trigger ON tgrelid = relations.oid AND NOT tgisinternal
        JOIN pg_proc ON pg_proc.oid = tgfoid
        UNION ALL
        SELECT 'rule ' || rulename || ' on brocot.' || relname,
            concat_ws(' ', pg_get_ruledef(pg_rewrite.oid), ev_enabled), owner
        FROM relations
        JOIN pg_rewrite ON ev_class = relations.oid AND rulename <> '_RETURN'
        UNION ALL
        SELECT 'policy ' || polname || ' on brocot.' || relname,
            concat_ws(' ', polcmd, polpermissive, polroles::regrole[], pg_get_expr(polqual, polrelid),
                pg_get_expr(polwithcheck, polrelid)), owner
        FROM relations
        JOIN pg_policy ON polrelid = relations.oid
        UNION ALL
        SELECT 'function ' || oid::regprocedure::text, pg_get_functiondef(oid), NULL
        FROM pg_proc
        WHERE pronamespace = to_regnamespace('brocot') AND prokind IN ('f', 'p')
        """

    /// See ``Migrator/tablesWithDisabledTriggers(on:)``. Triggers that users or migrations created are among ``objects``.
    static let tablesWithDisabledTriggers: SQL = """
        SELECT DISTINCT 'brocot.' || quote_ident(relation.relname)
        FROM pg_trigger AS trigger
        JOIN pg_class AS relation ON relation.oid = trigger.tgrelid
        JOIN pg_namespace AS space ON space.oid = relation.relnamespace
        WHERE space.nspname = 'brocot' AND trigger.tgisinternal AND trigger.tgenabled <> 'O'
        ORDER BY 1
        """
}
