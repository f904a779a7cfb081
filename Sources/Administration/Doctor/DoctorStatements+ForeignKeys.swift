import LibPQ

extension DoctorStatements {
    /// The columns of ``rankKeys``.
    enum RankKeyColumn: Int { case index, isPartitioned }

    /// The unique indexes without a condition that contain the rank column of an attached table or of a partition of it, if a foreign
    /// key refers to this relation. For the index of a partition, the index of the table.
    static let rankKeys: SQL = """
        SELECT DISTINCT pg_catalog.format('%I.%I', space.nspname, named.relname), named.relkind = 'I'
        FROM brocot.ordered_tables AS registered
        CROSS JOIN LATERAL (SELECT \(SQL.registeredRelation)) AS root (relation)
        LEFT JOIN LATERAL pg_catalog.pg_partition_tree(root.relation) AS part ON true
        JOIN pg_catalog.pg_index AS found
            ON found.indrelid = coalesce(part.relid, root.relation) AND found.indisunique AND found.indimmediate AND found.indpred IS NULL
        JOIN pg_catalog.pg_attribute AS ranked
            ON ranked.attrelid = found.indrelid AND ranked.attname = registered.rank_column
            AND ranked.attnum = ANY (found.indkey[:found.indnkeyatts - 1])
        JOIN pg_catalog.pg_class AS named
            ON named.oid = coalesce(pg_catalog.pg_partition_root(found.indexrelid), found.indexrelid)
        JOIN pg_catalog.pg_namespace AS space ON space.oid = named.relnamespace
        WHERE EXISTS (
            SELECT FROM pg_catalog.pg_constraint AS reference
            WHERE reference.contype = 'f' AND reference.confrelid = found.indrelid)
        ORDER BY 1
        """
}
