import LibPQ
import Ordering

/// The statements that look for the objects that attach creates.
extension CatalogStatements {
    /// The columns of ``constraint(_:of:)``.
    enum ConstraintColumn: Int { case definition, columns, isValidated, isInherited }

    static func constraint(_ name: String, of relation: Int64) -> SQL {
        """
        SELECT regexp_replace(pg_get_constraintdef(found.oid), ' NOT VALID$', ''), ARRAY(
                SELECT stored.attname::text FROM pg_attribute AS stored
                WHERE stored.attrelid = found.conrelid AND stored.attnum = ANY (found.conkey) ORDER BY stored.attnum
            ), found.convalidated, found.coninhcount > 0
        FROM pg_constraint AS found
        WHERE found.conrelid = \(relation)::oid AND found.conname = \(name)::text::name AND found.contype = 'c'
        """
    }

    /// The columns of ``triggers(of:in:)``.
    enum TriggerColumn: Int { case name, definition, isEnabled, isInherited }

    /// The triggers that call the functions of an order, or have the names of its triggers: after a rename of the table they call the
    /// functions of its former name. A trigger is enabled if it is so in each partition too.
    static func triggers(of relation: Int64, in order: OrderNames) -> SQL {
        """
        SELECT trigger.tgname::text, pg_get_triggerdef(trigger.oid),
            NOT EXISTS (
                WITH RECURSIVE copy (oid, enabled) AS (
                    SELECT trigger.oid, trigger.tgenabled
                    UNION ALL
                    SELECT child.oid, child.tgenabled FROM copy JOIN pg_trigger AS child ON child.tgparentid = copy.oid
                )
                SELECT FROM copy WHERE copy.enabled NOT IN ('O', 'A')
            ), trigger.tgparentid <> 0
        FROM pg_trigger AS trigger
        JOIN pg_proc AS function ON function.oid = trigger.tgfoid
        WHERE trigger.tgrelid = \(relation)::oid AND NOT trigger.tgisinternal
            AND function.pronamespace = 'brocot'::regnamespace
            AND (function.proname = ANY (\(order.functions)::text[]::name[])
                OR trigger.tgname = ANY (\(order.triggers + order.formerTriggers)::text[]::name[]))
        """
    }

    /// The schemas and names of the tables that have the order's trigger: first the table with the registered name, then those that also
    /// have the constraint. A table has other names than the order if it was renamed. A partition of the table with the registered name has its
    /// rows, and so is no other table.
    static func tablesWithTriggers(of names: OrderNames) -> SQL {
        """
        SELECT namespace.nspname::text, relation.relname::text
        FROM pg_trigger AS trigger
        JOIN pg_proc AS function ON function.oid = trigger.tgfoid
        JOIN pg_class AS relation ON relation.oid = trigger.tgrelid
        JOIN pg_namespace AS namespace ON namespace.oid = relation.relnamespace
        LEFT JOIN pg_constraint AS checked
            ON checked.conrelid = relation.oid AND checked.conname = \(names.constraint)::text::name
        WHERE trigger.tgname = ANY (\([names.keepTrigger] + names.formerTriggers)::text[]::name[]) AND trigger.tgparentid = 0
            AND function.pronamespace = 'brocot'::regnamespace AND function.proname = \(names.keepFunction)::text::name
            AND (relation.relispartition AND pg_partition_root(relation.oid) =
                \(SQL.relation(schema: "\(names.schema)", name: "\(names.table)"))) IS NOT TRUE
        ORDER BY (namespace.nspname, relation.relname) <> (\(names.schema)::text::name, \(names.table)::text::name),
            checked.oid IS NULL, relation.oid
        """
    }

    /// The names of the triggers on other tables that call the functions of an order, the tables, and whether the trigger is one of the order's
    /// on a partition of this table.
    static func triggersElsewhere(than relation: Int64, calling order: OrderNames) -> SQL {
        """
        SELECT trigger.tgname::text, trigger.tgrelid::regclass::text,
            coalesce(pg_partition_root(trigger.tgrelid) = \(relation)::oid, false)
                AND trigger.tgname = ANY (\(order.triggers + order.formerTriggers)::text[]::name[])
        FROM pg_trigger AS trigger
        JOIN pg_proc AS function ON function.oid = trigger.tgfoid
        WHERE trigger.tgrelid <> \(relation)::oid AND NOT trigger.tgisinternal AND trigger.tgparentid = 0
            AND function.pronamespace = 'brocot'::regnamespace AND function.proname = ANY (\(order.functions)::text[]::name[])
        ORDER BY trigger.tgrelid, trigger.tgname
        """
    }

    /// The user's row triggers before UPDATE whose names sort after this name. In `tgtype`, bit 1 means FOR EACH ROW, 2 BEFORE, and 16
    /// UPDATE.
    static func laterTriggers(of relation: Int64, than name: String) -> SQL {
        """
        SELECT trigger.tgname::text
        FROM pg_trigger AS trigger
        JOIN pg_proc AS function ON function.oid = trigger.tgfoid
        WHERE trigger.tgrelid = \(relation)::oid AND NOT trigger.tgisinternal AND trigger.tgtype & 19 = 19
            AND trigger.tgname > \(name)::text::name AND function.pronamespace <> 'brocot'::regnamespace
        ORDER BY trigger.tgname
        """
    }

    /// The user's enabled triggers on an UPDATE of these columns of the table, without those that have a condition: it
    /// is not known whether the condition holds. A partition can have row triggers of its own.
    static func triggersOfPlacing(of relation: Int64, _ rankColumns: [String]) -> SQL {
        """
        SELECT DISTINCT trigger.tgname::text
        FROM pg_trigger AS trigger
        JOIN pg_proc AS function ON function.oid = trigger.tgfoid
        WHERE trigger.tgrelid IN (
                SELECT \(relation)::oid UNION SELECT part.relid FROM pg_partition_tree(\(relation)::oid::regclass) AS part)
            AND (trigger.tgrelid = \(relation)::oid OR trigger.tgtype & 1 = 1)
            AND trigger.tgtype & 16 = 16 AND trigger.tgenabled IN ('O', 'A') AND NOT trigger.tgisinternal
            AND trigger.tgqual IS NULL AND function.pronamespace <> 'brocot'::regnamespace
            AND (cardinality(trigger.tgattr::int2[]) = 0 OR EXISTS (
                SELECT FROM pg_attribute AS stored
                WHERE stored.attrelid = trigger.tgrelid AND stored.attnum = ANY (trigger.tgattr::int2[])
                    AND stored.attname = ANY (\(rankColumns)::text[]::name[])))
        """
    }

    /// The columns of ``functions(_:)``.
    enum FunctionColumn: Int { case name, body, isSecurityDefiner, settings, isExecutable, otherOwner }

    /// The owner of the registry also owns the functions. Only the owner of a partitioned table needs EXECUTE later: the server copies row triggers
    /// to new partitions.
    static func functions(_ names: [String], ofTable relation: Int64) -> SQL {
        """
        SELECT function.proname::text, function.prosrc, function.prosecdef, coalesce(function.proconfig, '{}'),
            target.relkind <> 'p' OR target.relowner = registry.relowner
                OR has_function_privilege(target.relowner, function.oid, 'EXECUTE'),
            CASE WHEN function.proowner <> registry.relowner THEN pg_get_userbyid(function.proowner)::text END
        FROM pg_proc AS function
        JOIN pg_class AS target ON target.oid = \(relation)::oid
        JOIN pg_class AS registry ON registry.oid = 'brocot.ordered_tables'::regclass
        WHERE function.pronamespace = 'brocot'::regnamespace AND function.proname = ANY (\(names)::text[]::name[])
            AND function.pronargs = 0
        """
    }

    /// Views, triggers and other objects of users that use columns of a table, and the tables from which it inherits them, as the server
    /// describes them. They keep the columns from being dropped. `relations` are the table and then its partitions. Triggers with the names
    /// `own` are dropped first.
    static func dependents(ofColumns columns: [String], of relations: [Int64], except own: [String]) -> SQL {
        """
        SELECT DISTINCT coalesce(pg_describe_object('pg_class'::regclass, rule.ev_class, 0),
            pg_describe_object(found.classid, found.objid, found.objsubid)) AS description
        FROM pg_depend AS found
        JOIN pg_attribute AS stored ON stored.attrelid = found.refobjid AND stored.attnum = found.refobjsubid
        LEFT JOIN pg_rewrite AS rule ON found.classid = 'pg_rewrite'::regclass AND rule.oid = found.objid
        LEFT JOIN pg_trigger AS trigger ON found.classid = 'pg_trigger'::regclass AND trigger.oid = found.objid
        WHERE found.refclassid = 'pg_class'::regclass AND found.refobjid = ANY (\(relations)::bigint[]::oid[])
            AND found.deptype = 'n'
            AND stored.attname = ANY (\(columns)::text[]::name[])
            -- Indexes and CHECKs of the table are dropped along with the columns. Foreign keys of other tables are not.
            AND found.classid <> 'pg_class'::regclass
            AND (found.classid <> 'pg_constraint'::regclass OR EXISTS (
                SELECT FROM pg_constraint AS key
                WHERE key.oid = found.objid AND key.contype = 'f' AND key.confrelid = found.refobjid))
            AND (trigger.tgname = ANY (\(own)::text[]::name[])) IS NOT TRUE
        UNION
        SELECT pg_describe_object('pg_class'::regclass, parent.inhparent, 0)
        FROM pg_inherits AS parent
        WHERE parent.inhrelid = (\(relations)::bigint[])[1]::oid AND EXISTS (
            SELECT FROM pg_attribute AS stored
            WHERE stored.attrelid = parent.inhrelid AND stored.attname = ANY (\(columns)::text[]::name[]) AND stored.attinhcount > 0)
        ORDER BY description
        """
    }
}
