import LibPQ
import Ordering

/// The statements that look at a table in the catalog. They run with only `pg_catalog` in the `search_path`, unless they say otherwise.
enum CatalogStatements {
    /// The schema of a table that is named without one. It runs with the session's `search_path`.
    static func visibleSchema(of table: String) -> SQL {
        """
        SELECT namespace.nspname::text
        FROM pg_catalog.pg_class AS relation
        JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid OPERATOR(pg_catalog.=) relation.relnamespace
        WHERE relation.relname OPERATOR(pg_catalog.=) \(table)::pg_catalog.text::pg_catalog.name
            AND pg_catalog.pg_table_is_visible(relation.oid)
        """
    }

    /// The columns of ``relation(_:)``.
    enum RelationColumn: Int {
        case oid, owner, registryOwner
        /// Why it is not a table; NULL for a table.
        case faultOfKind
        /// Why the table can't be attached; NULL if it can.
        case obstacle
        case isPartitioned, actsAsOwner, mayBecomeRegistryOwner, hasRightsOfRegistryOwner, hidesRows,
            hasRuleOnInsertOrDelete, mayHavePublications
        /// The schema and the name of the table of which it is a partition, directly or through others; NULL if it is none.
        case partitionRoot
        /// The schema and the name of the table of which it is a partition directly; NULL if it is none.
        case partitionParent
    }

    static func relation(_ names: OrderNames) -> SQL {
        """
        SELECT relation.oid::bigint, pg_get_userbyid(relation.relowner)::text,
            pg_get_userbyid(registry.relowner)::text,
            CASE relation.relkind
                WHEN 'r' THEN NULL WHEN 'p' THEN NULL
                WHEN 'v' THEN 'this is a view. Only tables can be attached'
                WHEN 'm' THEN 'this is a materialized view. Only tables can be attached'
                WHEN 'f' THEN 'this is a foreign table. Only tables of this database can be attached'
                ELSE 'this is not a table'
            END,
            coalesce(CASE
                WHEN relation.reloftype <> 0 THEN 'this is a table of a type (CREATE TABLE … OF), to which no column can be added'
                WHEN relation.relpersistence = 't' THEN 'this is a temporary table. Only permanent tables can be attached'
                WHEN relation.relnamespace = 'brocot'::regnamespace THEN 'this table belongs to Brocot and can''t be attached'
                WHEN EXISTS (SELECT FROM pg_rewrite AS rule WHERE rule.ev_class = relation.oid AND rule.ev_type = '2')
                    THEN 'this table has a rule ON UPDATE, which changes the statements that place rows. Replace the rule with a trigger'
                WHEN relation.relkind = 'p' AND EXISTS (
                    SELECT FROM pg_partition_tree(relation.oid) AS part JOIN pg_class AS leaf ON leaf.oid = part.relid
                    WHERE leaf.relkind = 'f'
                ) THEN 'one of its partitions is a foreign table, so no index can make sure that ranks differ. It can''t be attached'
            END, (
                SELECT format('table %s inherits from this table, so no index can make sure that ranks differ. The table can be attached only after '
                    'ALTER TABLE %1$s NO INHERIT %s. Then queries of %2$s no longer have the rows of %1$s',
                    heir.inhrelid::regclass, heir.inhparent::regclass)
                FROM pg_inherits AS heir
                WHERE heir.inhparent = relation.oid AND relation.relkind = 'r'
                LIMIT 1
            ), (
                -- If attach created the order's index now, on both tables, FINALIZE would fail for ever.
                SELECT format('DETACH PARTITION … CONCURRENTLY of its partition %s is not finished. If no session does that now: '
                    'ALTER TABLE %s DETACH PARTITION %1$s FINALIZE', link.inhrelid::regclass, link.inhparent::regclass)
                FROM pg_partition_tree(relation.oid) AS present
                JOIN pg_inherits AS link ON link.inhparent = present.relid AND link.inhdetachpending
                WHERE NOT EXISTS (
                    SELECT FROM brocot.ordered_tables AS known
                    WHERE NOT known.being_filled AND known.schema_name = namespace.nspname AND known.table_name = relation.relname)
                LIMIT 1
            )),
            relation.relkind = 'p', pg_has_role(relation.relowner, 'USAGE'),
            -- Since PostgreSQL 16, a membership may lack the right to SET ROLE.
            pg_has_role(registry.relowner, CASE
                WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'SET' END),
            pg_has_role(registry.relowner, 'USAGE'),
            row_security_active(relation.oid),
            EXISTS (SELECT FROM pg_rewrite AS rule WHERE rule.ev_class = relation.oid AND rule.ev_type IN ('3', '4')),
            \(mayHavePublications),
            (SELECT ARRAY[root_schema.nspname::text, root.relname::text]
            FROM pg_class AS root JOIN pg_namespace AS root_schema ON root_schema.oid = root.relnamespace
            WHERE relation.relispartition AND root.oid = pg_partition_root(relation.oid)),
            (SELECT ARRAY[parent_schema.nspname::text, parent.relname::text]
            FROM pg_inherits AS link
            JOIN pg_class AS parent ON parent.oid = link.inhparent
            JOIN pg_namespace AS parent_schema ON parent_schema.oid = parent.relnamespace
            WHERE relation.relispartition AND link.inhrelid = relation.oid)
        FROM pg_class AS relation
        JOIN pg_namespace AS namespace ON namespace.oid = relation.relnamespace
        JOIN pg_class AS registry ON registry.oid = 'brocot.ordered_tables'::regclass
        WHERE namespace.nspname = \(names.schema)::text::name AND relation.relname = \(names.table)::text::name
        """
    }

    /// The owner of a table, the owner of Brocot's tables, and whether the latter is a superuser, if the owners are two roles and the current role
    /// is not a member of both.
    static func missingOwners(_ names: OrderNames) -> SQL {
        """
        SELECT pg_get_userbyid(relation.relowner)::text, owner.rolname::text, owner.rolsuper
        FROM pg_class AS relation
        JOIN pg_class AS registry ON registry.oid = \(SQL.relation(schema: "'brocot'", name: "'ordered_tables'"))
        JOIN pg_roles AS owner ON owner.oid = registry.relowner
        WHERE relation.oid = \(SQL.relation(schema: "\(names.schema)", name: "\(names.table)"))
            AND relation.relowner <> registry.relowner
            AND NOT (pg_has_role(relation.relowner, 'MEMBER') AND pg_has_role(registry.relowner, 'MEMBER'))
        """
    }

    static let mayReadStoredRows: SQL = "SELECT has_table_privilege('brocot.rows_to_place', 'SELECT')"

    /// The columns of ``columns(of:)``.
    enum AttributeColumn: Int {
        case name, type, declaredType, isNotNull, isGenerated, hasDefault, isMandatory, isIdentityAlways, isIdentity,
            usesSequence, foreignTypeOwner, cast, typeSchema, typeName
        /// The first two of the columns of ``KeyType/columns(of:)``.
        case baseSchema, baseType
    }

    static func columns(of relation: Int64) -> SQL {
        """
        SELECT stored.attname::text, format('%I.%I', namespace.nspname, type.typname),
            format_type(stored.atttypid, stored.atttypmod), stored.attnotnull AND NOT EXISTS (
                -- From PostgreSQL 18 on, such a constraint may be NOT VALID.
                SELECT FROM pg_constraint AS rule
                WHERE rule.conrelid = stored.attrelid AND rule.contype = 'n' AND rule.conkey[1] = stored.attnum
                    AND NOT rule.convalidated),
            stored.attgenerated <> '', stored.atthasdef OR stored.attidentity <> '', \(isMandatory),
            stored.attidentity = 'a', stored.attidentity <> '',
            stored.attidentity <> '' OR EXISTS (
                SELECT FROM pg_attrdef AS given
                JOIN pg_depend AS need ON need.classid = 'pg_attrdef'::regclass AND need.objid = given.oid
                JOIN pg_class AS sequence ON need.refclassid = 'pg_class'::regclass AND sequence.oid = need.refobjid
                    AND sequence.relkind = 'S'
                WHERE given.adrelid = stored.attrelid AND given.adnum = stored.attnum),
            \(foreignTypeOwner), \(castByFunction), namespace.nspname::text, type.typname::text,
            \(KeyType.columns(of: "stored"))
        FROM pg_attribute AS stored
        JOIN pg_class AS relation ON relation.oid = stored.attrelid
        JOIN pg_type AS type ON type.oid = stored.atttypid
        JOIN pg_namespace AS namespace ON namespace.oid = type.typnamespace
        \(KeyType.source(of: "stored"))
        WHERE stored.attrelid = \(relation)::oid AND stored.attnum > 0 AND NOT stored.attisdropped
        ORDER BY stored.attnum
        """
    }

    /// The column's type and, if it is a domain, the types that the domain is over, for WITH RECURSIVE.
    private static let chainOfTypes: SQL = """
        chain (oid) AS (
            SELECT stored.atttypid
            UNION
            SELECT self.typbasetype FROM chain JOIN pg_type AS self ON self.oid = chain.oid WHERE self.typbasetype <> 0
        )
        """

    /// Whether an INSERT that gives no value fails. Each domain of the chain may forbid NULL. Of their defaults, only that of the column's own type
    /// counts: the server copies the default of the other domain when it creates a domain.
    private static let isMandatory: SQL = """
        (
            stored.attnotnull OR EXISTS (
                WITH RECURSIVE \(chainOfTypes)
                SELECT FROM chain JOIN pg_type AS self ON self.oid = chain.oid WHERE self.typnotnull)
        ) AND NOT (stored.atthasdef OR stored.attidentity <> '' OR type.typdefault IS NOT NULL)
        """

    /// The owner of the column's type, or of a type that this domain is over, who is neither the table's owner nor a superuser.
    private static let foreignTypeOwner: SQL = """
        (
            WITH RECURSIVE \(chainOfTypes)
            SELECT owner.rolname::text
            FROM chain
            JOIN pg_type AS self ON self.oid = chain.oid
            JOIN pg_roles AS owner ON owner.oid = self.typowner
            WHERE self.typowner <> relation.relowner AND NOT owner.rolsuper
            LIMIT 1
        )
        """

    /// A cast by a function between the column's enum type, or arrays of it, and a type through which Brocot gets the text of a key.
    /// Casts WITH INOUT use the type's own text.
    private static let castByFunction: SQL = """
        (
            SELECT format('(%s AS %s)', cast_of_user.castsource::regtype, cast_of_user.casttarget::regtype)
            FROM pg_type AS self
            CROSS JOIN LATERAL (VALUES (self.oid), (self.typarray)) AS own (oid)
            JOIN pg_cast AS cast_of_user ON own.oid IN (cast_of_user.castsource, cast_of_user.casttarget)
            JOIN pg_type AS other
                ON other.oid IN (cast_of_user.castsource, cast_of_user.casttarget) AND other.oid <> own.oid
            WHERE self.oid = base.oid AND self.typtype = 'e' AND cast_of_user.castmethod = 'f'
                AND other.oid = ANY ('{text,varchar,bpchar,name,"char",json,jsonb,text[],varchar[],bpchar[],name[]}'::regtype[])
            ORDER BY 1
            LIMIT 1
        )
        """

    /// The columns of each unique index that is neither deferrable nor partial. An index with another collation than its column serves no look-up.
    static func uniqueKeys(of relation: Int64) -> SQL {
        """
        SELECT array_agg(stored.attname::text)
        FROM pg_index AS unique_index
        CROSS JOIN LATERAL unnest(unique_index.indkey::int2[]) WITH ORDINALITY AS key (attnum, number)
        LEFT JOIN pg_attribute AS stored ON stored.attrelid = unique_index.indrelid AND stored.attnum = key.attnum
            AND stored.attcollation = unique_index.indcollation[(key.number - 1)::integer]
        WHERE unique_index.indrelid = \(relation)::oid AND unique_index.indisunique AND unique_index.indisvalid
            AND unique_index.indimmediate AND unique_index.indpred IS NULL AND key.number <= unique_index.indnkeyatts
        GROUP BY unique_index.indexrelid
        HAVING bool_and(stored.attname IS NOT NULL)
        """
    }

    /// NULL for an expression.
    static func partitionKey(of relation: Int64) -> SQL {
        """
        SELECT DISTINCT stored.attname::text
        FROM pg_partition_tree(\(relation)::oid::regclass) AS part
        JOIN pg_partitioned_table AS partitioned ON partitioned.partrelid = part.relid
        CROSS JOIN LATERAL unnest(partitioned.partattrs::int2[]) AS key (attnum)
        LEFT JOIN pg_attribute AS stored ON stored.attrelid = partitioned.partrelid AND stored.attnum = key.attnum
        """
    }

    /// The columns of ``relations(of:)``.
    enum PartitionColumn: Int { case oid, schema, name, parent, isPartitioned, level, owner, actsAsOwner }

    /// The table and its partitions, from the top down.
    static func relations(of relation: Int64) -> SQL {
        """
        SELECT found.oid::bigint, namespace.nspname::text, found.relname::text,
            CASE WHEN part.level > 0 THEN part.parentrelid::oid::bigint END, found.relkind = 'p', part.level,
            pg_get_userbyid(found.relowner)::text, pg_has_role(found.relowner, 'USAGE')
        FROM (
            SELECT part.relid, part.parentrelid, part.level FROM pg_partition_tree(\(relation)::oid::regclass) AS part
            UNION ALL
            SELECT plain.oid, NULL, 0 FROM pg_class AS plain
            WHERE plain.oid = \(relation)::oid AND plain.relkind <> 'p' AND NOT plain.relispartition
        ) AS part (relid, parentrelid, level)
        JOIN pg_class AS found ON found.oid = part.relid
        JOIN pg_namespace AS namespace ON namespace.oid = found.relnamespace
        ORDER BY part.level, found.relname, namespace.nspname
        """
    }
}
