import LibPQ
import Ordering

/// The statements that look for the unique indexes on list and rank.
extension CatalogStatements {
    /// The columns of ``index(_:on:in:columns:ofTable:)``.
    enum IndexColumn: Int { case isBrocots, isValid, isAttached, otherTable, otherOrder }

    /// Looks for the index of one relation. The columns say: whether it is the index that attach creates; whether it is valid; whether it belongs
    /// to the index of the parent table; and, if the index with this name is on another table, that table, and the order of that table to which
    /// the index belongs. A relation of this name that is no index is not the index that attach creates either.
    ///
    /// In a partition that was added later, the server chose the index's name; it is found as a part of the table's index. An index without the
    /// condition counts too: earlier versions created it without one, and REINDEX CONCURRENTLY removes the condition.
    static func index(
        _ index: String, on relation: String, in schema: String, columns: [String], ofTable names: OrderNames
    ) -> SQL {
        """
        SELECT coalesce(found.indisunique AND found.indimmediate AND found.indexprs IS NULL
                AND coalesce(pg_get_expr(found.indpred, found.indrelid), \(OrderObjects.indexPredicate)) = \(OrderObjects.indexPredicate)
                -- The column is there since PostgreSQL 15. Such an index would refuse a second row without a rank.
                AND to_jsonb(found) ->> 'indnullsnotdistinct' IS DISTINCT FROM 'true'
                AND found.indrelid = \(SQL.relation(schema: "\(schema)", name: "\(relation)"))
                AND ARRAY(
                    SELECT stored.attname::text
                    FROM unnest(found.indkey::int2[]) WITH ORDINALITY AS key (attnum, number)
                    JOIN pg_attribute AS stored ON stored.attrelid = found.indrelid AND stored.attnum = key.attnum
                    ORDER BY key.number
                ) = \(columns), false),
            found.indisvalid, EXISTS (SELECT FROM pg_inherits AS child WHERE child.inhrelid = found.indexrelid),
            CASE WHEN found.indrelid <> \(SQL.relation(schema: "\(schema)", name: "\(relation)")) THEN found.indrelid::regclass::text END,
            (SELECT registered.name FROM brocot.ordered_tables AS registered
            JOIN pg_class AS other ON other.relname = registered.table_name::name AND other.relnamespace = namespace.oid
            WHERE other.oid = found.indrelid AND registered.schema_name::name = namespace.nspname
                AND named.relname::text = \(OrderNames.indexPrefix) || registered.table_name || '_' || registered.rank_column
            LIMIT 1)
        -- With OR instead of UNION, the server would read the whole pg_class, for each partition.
        FROM (
            SELECT \(SQL.relation(schema: "\(schema)", name: "\(index)")) AS oid
            UNION
            SELECT part.indexrelid FROM pg_index AS part
            WHERE part.indrelid = \(SQL.relation(schema: "\(schema)", name: "\(relation)"))
                AND \(SQL.relation(schema: "\(names.schema)", name: "\(names.index(on: names.table))")) IN (
                    SELECT ancestor.relid FROM pg_partition_ancestors(part.indexrelid) AS ancestor)
        ) AS candidate
        JOIN pg_class AS named ON named.oid = candidate.oid
        JOIN pg_namespace AS namespace ON namespace.oid = named.relnamespace
        LEFT JOIN pg_index AS found ON found.indexrelid = named.oid
        ORDER BY 3 DESC
        LIMIT 1
        """
    }

    /// The names of Brocot's unique indexes on the rank of this order, except those that belong to a parent's index. There are several
    /// if the table or an index was renamed, or if REINDEX CONCURRENTLY was cancelled. The constraint tells the rank column if that was renamed.
    /// Indexes without the condition are known by the end of their names. REINDEX CONCURRENTLY shortens a long name before it adds its own end.
    static func indexesOfRank(on relation: String, in schema: String, of names: OrderNames) -> SQL {
        """
        SELECT named.relname::text
        FROM pg_index AS found
        JOIN pg_class AS named ON named.oid = found.indexrelid
        CROSS JOIN LATERAL regexp_replace(named.relname::text, \(OrderNames.endOfReindexed), '') AS former
        WHERE found.indrelid = \(SQL.relation(schema: "\(schema)", name: "\(relation)")) AND found.indisunique
            AND (pg_get_expr(found.indpred, found.indrelid) = \(OrderObjects.indexPredicate)
                OR starts_with(named.relname::text, \(OrderNames.indexPrefix))
                    AND ('_' || \(names.rank) IN (
                            right(named.relname::text, length(\(names.rank)) + 1), right(former, length(\(names.rank)) + 1))
                        OR former <> named.relname::text AND starts_with(\(names.index(on: relation)), former)))
            AND found.indkey[found.indnkeyatts - 1] IN (
                SELECT stored.attnum FROM pg_attribute AS stored
                WHERE stored.attrelid = found.indrelid AND stored.attname = \(names.rank)::text::name
                UNION ALL
                SELECT unnest(checked.conkey) FROM pg_constraint AS checked
                WHERE checked.conrelid = found.indrelid AND checked.conname = \(names.constraint)::text::name)
            AND NOT EXISTS (SELECT FROM pg_inherits AS child WHERE child.inhrelid = found.indexrelid)
        ORDER BY named.relname
        """
    }
}
