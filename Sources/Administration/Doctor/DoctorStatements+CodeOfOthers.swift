import LibPQ

/// The statements about code of other roles.
extension DoctorStatements {
    /// The most findings of one check. A schema may have thousands of grants, and nobody reads as many.
    private static let mostFindings = 100

    /// Whether the current role is a superuser, and the owners of ordered tables that are not superusers.
    static let superuser: SQL = """
        SELECT role.rolsuper, ARRAY(
            SELECT DISTINCT owner.rolname::text
            FROM brocot.ordered_tables AS registered
            JOIN pg_catalog.pg_class AS target
                ON target.oid = \(SQL.registeredRelation)
            JOIN pg_catalog.pg_roles AS owner ON owner.oid = target.relowner
            WHERE NOT owner.rolsuper ORDER BY 1)
        FROM pg_catalog.pg_roles AS role WHERE role.rolname = current_user
        """

    /// Triggers, rules and policies on the tables of schema `brocot` that no migration created, and foreign keys of tables of other schemas to them: the
    /// name, the role that can change their code, and whether that role owns the table or is a superuser. The triggers of migrations call functions of the
    /// schema, which belong to the table's owner.
    static let addedCode: SQL = """
        WITH addition AS (
            SELECT trigger.tgrelid AS relation, 'trigger' AS kind, pg_catalog.quote_ident(trigger.tgname) AS name, function.proowner AS owner
            FROM pg_catalog.pg_trigger AS trigger
            JOIN pg_catalog.pg_class AS target ON target.oid = trigger.tgrelid
            JOIN pg_catalog.pg_proc AS function ON function.oid = trigger.tgfoid
            WHERE NOT trigger.tgisinternal
                AND (function.pronamespace, function.proowner) <> (target.relnamespace, target.relowner)
            UNION ALL
            SELECT rule.ev_class, 'rule', pg_catalog.quote_ident(rule.rulename), target.relowner
            FROM pg_catalog.pg_rewrite AS rule
            JOIN pg_catalog.pg_class AS target ON target.oid = rule.ev_class
            WHERE rule.rulename <> '_RETURN'
            UNION ALL
            SELECT policy.polrelid, 'policy', pg_catalog.quote_ident(policy.polname), target.relowner
            FROM pg_catalog.pg_policy AS policy
            JOIN pg_catalog.pg_class AS target ON target.oid = policy.polrelid
            UNION ALL
            SELECT key.confrelid, 'foreign key', pg_catalog.format('%I of %s', key.conname, key.conrelid::regclass), referencing.relowner
            FROM pg_catalog.pg_constraint AS key
            JOIN pg_catalog.pg_class AS referencing ON referencing.oid = key.conrelid
            JOIN pg_catalog.pg_class AS target ON target.oid = key.confrelid
            WHERE key.contype = 'f' AND key.conparentid = 0 AND referencing.relnamespace <> target.relnamespace
        )
        SELECT pg_catalog.format('%s %s on brocot.%I', addition.kind, addition.name, target.relname), owner.rolname::text,
            owner.rolsuper OR owner.oid = target.relowner
        FROM addition
        JOIN pg_catalog.pg_class AS target ON target.oid = addition.relation
        JOIN pg_catalog.pg_roles AS owner ON owner.oid = addition.owner
        WHERE target.relnamespace = pg_catalog.to_regnamespace('brocot')
        ORDER BY 3, addition.kind = 'foreign key', target.relname, addition.name
        LIMIT \(mostFindings)::bigint
        """

    /// The tables of schema `brocot`, and the attached tables and their partitions, on which other roles than the owner and superusers may create triggers, or
    /// to which they may create foreign keys, with these roles. A foreign key with CASCADE changes rows of a table with triggers of its own. A member of the
    /// owner's role may do everything there anyway.
    static let codeRights: SQL = """
        SELECT pg_catalog.format('%I.%I', space.nspname, target.relname),
            pg_catalog.array_agg(DISTINCT coalesce(pg_catalog.quote_ident(grantee.rolname), 'PUBLIC') ORDER BY coalesce(pg_catalog.quote_ident(grantee.rolname), 'PUBLIC'))
        FROM pg_catalog.pg_class AS target
        JOIN pg_catalog.pg_namespace AS space ON space.oid = target.relnamespace
        CROSS JOIN LATERAL (
            SELECT acl.grantee, acl.privilege_type FROM pg_catalog.aclexplode(target.relacl) AS acl
            UNION ALL
            SELECT acl.grantee, acl.privilege_type
            FROM pg_catalog.pg_attribute AS attribute
            CROSS JOIN LATERAL pg_catalog.aclexplode(attribute.attacl) AS acl
            WHERE attribute.attrelid = target.oid AND NOT attribute.attisdropped
        ) AS granted
        LEFT JOIN pg_catalog.pg_roles AS grantee ON grantee.oid = granted.grantee
        WHERE granted.privilege_type IN ('TRIGGER', 'REFERENCES') AND granted.grantee <> target.relowner
            AND (granted.grantee = 0 OR NOT grantee.rolsuper AND NOT pg_catalog.pg_has_role(granted.grantee, target.relowner, 'MEMBER'))
            AND (space.nspname = 'brocot' OR EXISTS (
                SELECT FROM brocot.ordered_tables AS known
                JOIN pg_catalog.pg_namespace AS known_space ON known_space.nspname = known.schema_name
                JOIN pg_catalog.pg_class AS attached
                    ON attached.relnamespace = known_space.oid AND attached.relname = known.table_name
                WHERE attached.oid IN (target.oid, pg_catalog.pg_partition_root(target.oid))))
        GROUP BY space.nspname, target.relname
        ORDER BY space.nspname <> 'brocot', space.nspname, target.relname
        LIMIT \(mostFindings)::bigint
        """
}
