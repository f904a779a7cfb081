import LibPQ
import Ordering

/// The statements that look for the objects that attach creates.
extension CatalogStatements {
    /// The columns of ``index(_:on:in:columns:ofTable:)``.
    enum IndexColumn: Int { case isBrocots, isValid, isAttached }

    /// Whether the index with this name is the one that attach creates, whether it is valid, and whether it belongs to a parent's index.
    /// The server names the index of a partition that was added later; that index belongs to the table's index.
    static func index(
        _ index: String, on relation: String, in schema: String, columns: [String], ofTable names: OrderNames
    ) -> SQL {
        """
        SELECT found.indisunique AND found.indimmediate AND found.indpred IS NULL AND found.indexprs IS NULL
                -- The column is there since PostgreSQL 15. Such an index would refuse a second row without a rank.
                AND to_jsonb(found) ->> 'indnullsnotdistinct' IS DISTINCT FROM 'true'
                AND found.indrelid = to_regclass(format('%I.%I', \(schema)::text, \(relation)::text))
                AND ARRAY(
                    SELECT stored.attname::text
                    FROM unnest(found.indkey::int2[]) WITH ORDINALITY AS key (attnum, number)
                    JOIN pg_attribute AS stored ON stored.attrelid = found.indrelid AND stored.attnum = key.attnum
                    ORDER BY key.number
                ) = \(columns),
            found.indisvalid, EXISTS (SELECT FROM pg_inherits AS child WHERE child.inhrelid = found.indexrelid)
        FROM pg_class AS named
        JOIN pg_namespace AS namespace ON namespace.oid = named.relnamespace
        JOIN pg_index AS found ON found.indexrelid = named.oid
        WHERE (namespace.nspname, named.relname) = (\(schema)::text::name, \(index)::text::name)
            OR found.indrelid = to_regclass(format('%I.%I', \(schema)::text, \(relation)::text))
                AND named.oid IN (
                    SELECT part.relid FROM pg_partition_tree(to_regclass(format(
                        '%I.%I', \(names.schema)::text, \(names.index(on: names.table))::text))) AS part)
        ORDER BY 3 DESC
        LIMIT 1
        """
    }

    static func constraint(_ name: String, of relation: Int64) -> SQL {
        """
        SELECT found.convalidated FROM pg_constraint AS found
        WHERE found.conrelid = \(relation)::oid AND found.conname = \(name)::text::name AND found.contype = 'c'
        """
    }

    /// The columns of ``triggers(of:calling:)``.
    enum TriggerColumn: Int { case name, isCurrent }

    /// The triggers that call the functions of these names in schema `brocot`. A trigger is current if it is enabled and has the
    /// present condition. The triggers of earlier versions let all statements within a move pass.
    static func triggers(of relation: Int64, calling functions: [String]) -> SQL {
        """
        SELECT trigger.tgname::text,
            trigger.tgenabled IN ('O', 'A') AND strpos(pg_get_triggerdef(trigger.oid), 'brocot.writing_depth') > 0
        FROM pg_trigger AS trigger
        JOIN pg_proc AS function ON function.oid = trigger.tgfoid
        WHERE trigger.tgrelid = \(relation)::oid AND NOT trigger.tgisinternal
            AND function.pronamespace = 'brocot'::regnamespace AND function.proname = ANY (\(functions)::text[]::name[])
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

    /// The columns of ``functionBodies(_:)``.
    enum FunctionColumn: Int { case name, body }

    static func functionBodies(_ names: [String]) -> SQL {
        """
        SELECT function.proname::text, function.prosrc
        FROM pg_proc AS function
        WHERE function.pronamespace = 'brocot'::regnamespace AND function.proname = ANY (\(names)::text[]::name[])
            AND function.pronargs = 0
        """
    }

    /// The columns of ``registered(_:)``.
    enum RegistryColumn: Int {
        case schema, table, rank, listColumns, itemColumn, ownsRows, visible, arrive, arriveNow, isBeingFilled
    }

    static func registered(_ name: String) -> SQL {
        """
        SELECT registered.schema_name, registered.table_name, registered.rank_column, registered.list_columns,
            registered.item_column, registered.owns_rows, registered.visible, registered.arrive,
            registered.arrive_now, registered.being_filled
        FROM brocot.ordered_tables AS registered
        WHERE registered.name = \(name)
        """
    }

    /// The orders of users' tables.
    static let attached: SQL = """
        SELECT registered.name FROM brocot.ordered_tables AS registered
        WHERE registered.schema_name <> 'brocot' ORDER BY registered.name
        """
}
