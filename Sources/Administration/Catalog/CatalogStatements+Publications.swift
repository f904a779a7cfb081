import LibPQ

/// The statement that looks for publications of a table.
extension CatalogStatements {
    /// Why the server would refuse each UPDATE or DELETE of the table or of a partition: a publication sends them, and the table has no replica
    /// identity, by which a subscriber would find the row.
    static let missingReplicaIdentity: SQL = """
        SELECT format('publication %I publishes updates or deletes of %s, which has no replica identity, so the server would refuse to change its rows (55000). '
                'First: ALTER TABLE %2$s REPLICA IDENTITY %s', publication.pubname, stored.oid::regclass, coalesce((
                SELECT format('USING INDEX %I', named.relname)
                FROM pg_index AS key
                JOIN pg_class AS named ON named.oid = key.indexrelid
                WHERE key.indrelid = stored.oid AND key.indisunique AND \(isUsableKey) AND key.indpred IS NULL AND key.indexprs IS NULL
                    AND NOT EXISTS (
                        SELECT FROM pg_attribute AS field
                        WHERE field.attrelid = key.indrelid AND field.attnum = ANY (key.indkey[:key.indnkeyatts - 1])
                            AND NOT field.attnotnull)
                ORDER BY NOT key.indisprimary, named.relname
                LIMIT 1
            ), 'FULL'))
        FROM (
            SELECT relation.oid UNION SELECT tree.relid FROM pg_partition_tree(relation.oid) AS tree
        ) AS part (oid)
        JOIN pg_class AS stored ON stored.oid = part.oid
        CROSS JOIN pg_publication AS publication
        WHERE stored.relkind = 'r' AND stored.relpersistence = 'p' AND (publication.pubupdate OR publication.pubdelete)
            AND NOT (stored.relreplident = 'f' OR EXISTS (
                SELECT FROM pg_index AS key
                WHERE key.indrelid = stored.oid AND \(isUsableKey)
                    AND CASE stored.relreplident WHEN 'd' THEN key.indisprimary WHEN 'i' THEN key.indisreplident END))
            -- With publish_via_partition_root, a publication has the table of which this is a partition.
            AND EXISTS (
                SELECT FROM pg_publication_tables AS sent
                JOIN pg_namespace AS sent_schema ON sent_schema.nspname = sent.schemaname
                JOIN pg_class AS sent_table ON (sent_table.relnamespace, sent_table.relname) = (sent_schema.oid, sent.tablename)
                WHERE sent.pubname = publication.pubname AND (sent_table.oid = stored.oid OR sent_table.oid IN (
                    SELECT ancestor.relid FROM pg_partition_ancestors(stored.oid) AS ancestor)))
        ORDER BY stored.oid, publication.pubname
        LIMIT 1
        """

    private static let isUsableKey: SQL = "key.indisvalid AND key.indimmediate"
}
