import LibPQ

/// The statement that looks for publications because of which the server refuses to change rows of a table.
extension CatalogStatements {
    /// The columns of ``faultsOfPublications(of:)``.
    enum PublicationColumn: Int { case reason, refusesUpdates, refusesDeletes }

    /// Why the server would refuse each UPDATE or DELETE of a table or of a partition: a publication sends them, and its replica identity, by which
    /// a subscriber finds the row, is missing or does not suffice.
    ///
    /// From PostgreSQL 15 on, a publication may send only some rows, by a condition on columns of the identity, and only some columns, among them
    /// all of the identity. Before, `pg_publication_rel` has no columns for these, so they are read as JSON.
    static func faultsOfPublications(of relation: Int64) -> SQL {
        """
        SELECT fault.reason, publication.pubupdate, publication.pubdelete
        FROM (
            SELECT \(relation)::oid UNION SELECT tree.relid FROM pg_partition_tree(\(relation)::oid::regclass) AS tree
        ) AS part (oid)
        JOIN pg_class AS stored ON stored.oid = part.oid
        CROSS JOIN pg_publication AS publication
        CROSS JOIN LATERAL (
            SELECT array_agg(field.attname)
            FROM pg_index AS key
            JOIN pg_attribute AS field
                ON field.attrelid = key.indrelid AND field.attnum = ANY (key.indkey[:key.indnkeyatts - 1])
            WHERE key.indrelid = stored.oid AND \(isUsableKey)
                AND CASE stored.relreplident WHEN 'd' THEN key.indisprimary WHEN 'i' THEN key.indisreplident END
        ) AS identity (columns)
        LEFT JOIN LATERAL (\(entry)) AS entry (condition, columns) ON NOT publication.puballtables
        CROSS JOIN LATERAL (SELECT CASE
            WHEN stored.relreplident <> 'f' AND identity.columns IS NULL
                THEN CASE WHEN EXISTS (\(sentTable)) THEN format(
                    'publication %I publishes updates or deletes of %s, which has no replica identity, so the server would refuse to change its rows (55000). '
                    'First: ALTER TABLE %2$s REPLICA IDENTITY %s', publication.pubname, stored.oid::regclass, coalesce((\(bestIdentity)), 'FULL')) END
            WHEN stored.relreplident <> 'f' AND NOT entry.condition <@ identity.columns
                THEN format('publication %I sends only rows for which a condition is true, and the replica identity of %s lacks a column of this condition, '
                    'so the server would refuse to change its rows (42P10). First: ALTER TABLE %2$s REPLICA IDENTITY FULL',
                    publication.pubname, stored.oid::regclass)
            WHEN entry.columns IS NOT NULL AND (stored.relreplident = 'f' OR NOT identity.columns <@ entry.columns)
                THEN format('publication %I does not send all columns of the replica identity of %s, so the server would refuse to change its rows (42P10). '
                    'First: drop the table from the publication, and add it again without a list of columns, or with one that has these columns',
                    publication.pubname, stored.oid::regclass)
        END) AS fault (reason)
        WHERE stored.relkind = 'r' AND stored.relpersistence = 'p' AND (publication.pubupdate OR publication.pubdelete)
            AND fault.reason IS NOT NULL
        ORDER BY stored.oid, publication.pubname
        """
    }

    /// The columns of the condition and of the list with which the publication sends the table, or, with `publish_via_partition_root`, the topmost
    /// table of which this is a partition.
    private static let entry: SQL = """
        SELECT
            ARRAY(
                SELECT field.attname
                FROM regexp_matches(listed.entry ->> 'prqual', ':varattno (\\d+)', 'g') AS read (matches)
                JOIN pg_attribute AS field
                    ON field.attrelid = listed.prrelid AND field.attnum = read.matches[1]::integer),
            CASE WHEN listed.entry ->> 'prattrs' IS NOT NULL THEN ARRAY(
                SELECT field.attname
                FROM jsonb_array_elements_text(listed.entry -> 'prattrs') AS sent (attnum)
                JOIN pg_attribute AS field ON field.attrelid = listed.prrelid AND field.attnum = sent.attnum::integer) END
        FROM (
            SELECT direct.prrelid, to_jsonb(direct) AS entry, 0 AS level
            FROM pg_publication_rel AS direct
            WHERE direct.prpubid = publication.oid AND direct.prrelid = stored.oid
            UNION ALL
            SELECT inherited.prrelid, to_jsonb(inherited), ancestor.level
            FROM pg_partition_ancestors(stored.oid) WITH ORDINALITY AS ancestor (oid, level)
            JOIN pg_publication_rel AS inherited ON inherited.prrelid = ancestor.oid
            WHERE publication.pubviaroot AND inherited.prpubid = publication.oid
            ORDER BY level DESC
            LIMIT 1
        ) AS listed
        """

    /// A row if the publication sends the table. With `publish_via_partition_root`, a publication has the table of which this is a partition.
    private static let sentTable: SQL = """
        SELECT FROM pg_publication_tables AS sent
        JOIN pg_namespace AS sent_schema ON sent_schema.nspname = sent.schemaname
        JOIN pg_class AS sent_table ON (sent_table.relnamespace, sent_table.relname) = (sent_schema.oid, sent.tablename)
        WHERE sent.pubname = publication.pubname AND (sent_table.oid = stored.oid OR sent_table.oid IN (
            SELECT ancestor.relid FROM pg_partition_ancestors(stored.oid) AS ancestor))
        """

    /// The index that may become the replica identity, as in ALTER TABLE; no row if there is none.
    private static let bestIdentity: SQL = """
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
        """

    private static let isUsableKey: SQL = "key.indisvalid AND key.indimmediate"
}
