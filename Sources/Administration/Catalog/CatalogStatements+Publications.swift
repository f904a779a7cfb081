import LibPQ

/// The statement that looks for publications because of which the server refuses to change rows of a table.
extension CatalogStatements {
    /// Whether there may be such publications. If a superuser has hidden `pg_publication_rel`, the check is left out.
    static let mayHavePublications: SQL =
        "EXISTS (SELECT FROM pg_publication) AND has_table_privilege('pg_publication_rel', 'SELECT')"

    /// The columns of ``faultsOfPublications(of:)``.
    enum PublicationColumn: Int { case reason, refusesUpdates, refusesDeletes }

    /// Why the server would refuse each UPDATE or DELETE of a table or of a partition: a publication sends them, and the replica identity, by which
    /// a subscriber finds the row, is missing or does not suffice. The rules are those of `RelationBuildPublicationDesc` and
    /// `CheckCmdReplicaIdentity` in PostgreSQL.
    ///
    /// With `publish_via_partition_root`, `published` is not the partition itself, but the topmost table above it that the publication has.
    static func faultsOfPublications(of relation: Int64) -> SQL {
        """
        WITH sent AS MATERIALIZED (
            SELECT present.pubname, sent_table.oid
            FROM pg_publication_tables AS present
            JOIN pg_namespace AS sent_schema ON sent_schema.nspname = present.schemaname
            JOIN pg_class AS sent_table ON (sent_table.relnamespace, sent_table.relname) = (sent_schema.oid, present.tablename)
        )
        SELECT fault.reason, publication.pubupdate, publication.pubdelete
        FROM (
            SELECT \(relation)::oid UNION SELECT tree.relid FROM pg_partition_tree(\(relation)::oid::regclass) AS tree
        ) AS part (oid)
        JOIN pg_class AS stored ON stored.oid = part.oid
        CROSS JOIN LATERAL (
            SELECT stored.oid UNION SELECT ancestor.relid FROM pg_partition_ancestors(stored.oid) AS ancestor
        ) AS published (oid)
        JOIN sent ON sent.oid = published.oid
        JOIN pg_publication AS publication ON publication.pubname = sent.pubname
        CROSS JOIN LATERAL (\(identity)) AS identity (columns)
        LEFT JOIN LATERAL (\(entry)) AS entry (condition, columns) ON true
        CROSS JOIN LATERAL (SELECT CASE
            WHEN stored.relreplident <> 'f' AND identity.columns IS NULL THEN format(
                'publication %I publishes updates or deletes of %s, which has no replica identity, so the server would refuse to change its rows (55000). '
                'First: ALTER TABLE %2$s REPLICA IDENTITY %s', publication.pubname, stored.oid::regclass, coalesce((\(bestIdentity)), 'FULL'))
            WHEN stored.relreplident <> 'f' AND NOT entry.condition <@ identity.columns THEN format(
                'publication %I sends only rows for which a condition is true, and the replica identity of %s lacks a column of this condition, '
                'so the server would refuse to change its rows (42P10). First: ALTER TABLE %2$s REPLICA IDENTITY FULL',
                publication.pubname, stored.oid::regclass)
            WHEN stored.relreplident = 'f' AND entry.columns IS NOT NULL THEN format(
                'publication %I has a list of columns of %s, and the replica identity of %s is FULL, which allows no list, so the server would refuse '
                'to change its rows (42P10). First: drop %2$s from the publication, and add it again without a list, or give %3$s another replica identity',
                publication.pubname, published.oid::regclass, stored.oid::regclass)
            WHEN NOT identity.columns <@ entry.columns THEN format(
                'publication %I does not send all columns of the replica identity of %s, so the server would refuse to change its rows (42P10). '
                'First: drop %s from the publication, and add it again without a list of columns, or with one that has these columns',
                publication.pubname, stored.oid::regclass, published.oid::regclass)
            WHEN entry.columns IS NULL AND EXISTS (\(unsentColumn)) THEN format(
                'publication %I does not send the generated columns of the replica identity of %s, so the server would refuse to change its rows (42P10). '
                'First: give the table a replica identity without generated columns, or, if they are stored: '
                'ALTER PUBLICATION %1$I SET (publish_generated_columns = stored)', publication.pubname, stored.oid::regclass)
        END) AS fault (reason)
        WHERE stored.relkind = 'r' AND stored.relpersistence = 'p' AND (publication.pubupdate OR publication.pubdelete)
            AND fault.reason IS NOT NULL
        ORDER BY stored.oid, publication.pubname
        """
    }

    /// The columns of the replica identity; NULL for FULL, and if there is none.
    private static let identity: SQL = """
        SELECT array_agg(field.attname)
        FROM pg_index AS key
        JOIN pg_attribute AS field
            ON field.attrelid = key.indrelid AND field.attnum = ANY (key.indkey[:key.indnkeyatts - 1])
        WHERE key.indrelid = stored.oid AND \(isUsableKey)
            AND CASE stored.relreplident WHEN 'd' THEN key.indisprimary WHEN 'i' THEN key.indisreplident END
        """

    /// The columns that the publication's condition for this table reads, and those of its list of columns, which is NULL if it has none. Before
    /// PostgreSQL 15, `pg_publication_rel` has no such columns, so they are read as JSON.
    private static let entry: SQL = """
        SELECT
            ARRAY(
                SELECT field.attname
                FROM regexp_matches(listed.row ->> 'prqual', ':varattno (\\d+)', 'g') AS read (matches)
                JOIN pg_attribute AS field
                    ON field.attrelid = published.oid AND field.attnum = read.matches[1]::integer),
            CASE WHEN listed.row ->> 'prattrs' IS NOT NULL THEN ARRAY(
                SELECT field.attname
                FROM jsonb_array_elements_text(listed.row -> 'prattrs') AS listed_column (attnum)
                JOIN pg_attribute AS field
                    ON field.attrelid = published.oid AND field.attnum = listed_column.attnum::integer) END
        FROM (
            SELECT to_jsonb(relation) FROM pg_publication_rel AS relation
            WHERE relation.prpubid = publication.oid AND relation.prrelid = published.oid
        ) AS listed (row)
        """

    /// A row for a generated column of the replica identity that the publication does not send. Before PostgreSQL 18, the server does not look
    /// for such columns, and `pg_publication` does not say whether they are sent.
    private static let unsentColumn: SQL = """
        SELECT FROM pg_attribute AS field
        WHERE field.attrelid = stored.oid AND (stored.relreplident = 'f' OR field.attname = ANY (identity.columns))
            AND field.attgenerated <> '' AND NOT field.attisdropped
            AND (field.attgenerated = 'v' OR to_jsonb(publication) ->> 'pubgencols' <> 's')
            AND to_jsonb(publication) ? 'pubgencols'
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
