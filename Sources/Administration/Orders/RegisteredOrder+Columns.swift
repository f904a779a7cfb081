import LibPQ

/// Whether the registered tables exist, and have the columns that the registry names.
extension RegisteredOrder {
    /// The columns that a registered table must have.
    private static let wantedColumns: SQL = """
        unnest(registered.list_columns || ARRAY[
            registered.item_column, registered.rank_column || '_num', registered.rank_column || '_den',
            registered.rank_column]) AS wanted (name)
        """

    /// What is wrong with registered tables that can't be read: the table does not exist, its name belongs to something else, or a
    /// registered column does not exist.
    static let missingTables: SQL = """
        SELECT registered.name || CASE
                WHEN found.relation IS NULL THEN ' is gone'
                WHEN found.kind = 'v' THEN ' is a view, not a table'
                WHEN found.kind NOT IN ('r', 'p') THEN ' is not a table'
                ELSE pg_catalog.format(' has no column "%s"', missing.name) END
        FROM brocot.ordered_tables AS registered
        LEFT JOIN LATERAL (
            SELECT target.oid AS relation, target.relkind AS kind
            FROM pg_catalog.pg_class AS target
            WHERE target.oid = \(SQL.registeredRelation)
        ) AS found ON true
        LEFT JOIN LATERAL (
            SELECT wanted.name
            FROM \(wantedColumns)
            WHERE found.relation IS NOT NULL AND NOT EXISTS (
                SELECT FROM pg_catalog.pg_attribute AS present
                WHERE present.attrelid = found.relation AND present.attname = wanted.name AND NOT present.attisdropped)
        ) AS missing ON true
        WHERE found.relation IS NULL OR found.kind NOT IN ('r', 'p') OR missing.name IS NOT NULL
        ORDER BY 1
        """

    /// The condition that the table of the registry's row `registered` exists and has all columns. Before a table is read, see
    /// ``TableLock``.
    static let hasAllColumns: SQL = """
        NOT EXISTS (
            SELECT FROM \(wantedColumns)
            WHERE NOT EXISTS (
                SELECT FROM pg_catalog.pg_attribute AS present
                JOIN pg_catalog.pg_class AS target ON target.oid = present.attrelid AND target.relkind IN ('r', 'p')
                WHERE present.attrelid = \(SQL.registeredRelation)
                    AND present.attname = wanted.name AND NOT present.attisdropped))
        """
}
