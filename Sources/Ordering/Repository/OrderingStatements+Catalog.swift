import LibPQ

/// The statement that reads how tables are registered.
extension OrderingStatements {
    /// The columns of ``keyColumns(ofTablesNamed:)`` before those of ``KeyType/columns(of:)``. ``RegisteredColumn`` reads them.
    enum RegistryColumn: Int, CaseIterable {
        case orderedTable, schema, table, ownsRows, rankColumn, arrivalEnd, visible, name, lookUpColumns
        case missingRankColumn, keepFunctionOfOtherOrder, untrustedOwner, hasManyPartitions, listIsInKey

        fileprivate var expression: SQL {
            switch self {
            case .orderedTable: "registered.name"
            case .schema: "registered.schema_name"
            case .table: "registered.table_name"
            case .ownsRows: "registered.owns_rows"
            case .rankColumn: "registered.rank_column"
            case .arrivalEnd: "registered.arrive"
            case .visible: "registered.visible"
            case .name: "wanted.name"
            case .lookUpColumns: columnsOfLookUpIndex
            case .missingRankColumn: OrderingStatements.missingRankColumn
            case .keepFunctionOfOtherOrder: OrderingStatements.keepFunctionOfOtherOrder
            case .untrustedOwner: OrderingStatements.untrustedOwner
            case .hasManyPartitions: OrderingStatements.hasManyPartitions
            case .listIsInKey: OrderingStatements.listIsInKey
            }
        }
    }

    /// The key columns of the registered tables with these names, the item column last. The type of a column that does not exist
    /// is NULL. A view that has a table's name is not the table: reading it would run its owner's code.
    static func keyColumns(ofTablesNamed names: [String]) -> SQL {
        """
        SELECT \(RegistryColumn.allCases.map(\.expression).joined()),
            \(KeyType.columns(of: "stored"))
        FROM brocot.ordered_tables AS registered
        CROSS JOIN LATERAL pg_catalog.unnest(pg_catalog.array_append(registered.list_columns, registered.item_column))
            WITH ORDINALITY AS wanted (name, number)
        LEFT JOIN pg_catalog.pg_attribute AS stored
            ON stored.attrelid = (
                SELECT target.oid FROM pg_catalog.pg_class AS target
                WHERE target.oid
                        = pg_catalog.to_regclass(pg_catalog.format('%I.%I', registered.schema_name, registered.table_name))::oid
                    AND target.relkind IN ('r', 'p'))
            AND stored.attname = wanted.name::name
        \(KeyType.source(of: "stored"))
        WHERE registered.name = ANY (\(names))
        ORDER BY registered.name, wanted.number
        """
    }

    /// The columns of the shortest unique index that identifies a row, in the order of the index; NULL if no index begins with the
    /// item. An index that begins with the item could mislead the planner, because the same item may be in very many lists.
    private static let columnsOfLookUpIndex: SQL = """
        CASE WHEN EXISTS (
            SELECT FROM pg_catalog.pg_index AS other
            WHERE other.indrelid = stored.attrelid AND other.indkey[0] = (
                SELECT item.attnum FROM pg_catalog.pg_attribute AS item
                WHERE item.attrelid = stored.attrelid AND item.attname = registered.item_column::name)
        ) THEN (
            SELECT pg_catalog.array_agg(part.attname::text ORDER BY key.number)
            FROM pg_catalog.pg_index AS one
            CROSS JOIN LATERAL pg_catalog.unnest(one.indkey::int2[]) WITH ORDINALITY AS key (attnum, number)
            JOIN pg_catalog.pg_attribute AS part ON part.attrelid = one.indrelid AND part.attnum = key.attnum
                AND part.attcollation = one.indcollation[(key.number - 1)::integer]
            WHERE one.indrelid = stored.attrelid AND one.indisunique AND one.indisvalid AND one.indimmediate
                AND one.indpred IS NULL AND key.number <= one.indnkeyatts
            GROUP BY one.indexrelid, one.indnkeyatts
            HAVING count(*) = one.indnkeyatts
                AND pg_catalog.array_agg(part.attname::text)
                    OPERATOR(pg_catalog.<@) pg_catalog.array_append(registered.list_columns, registered.item_column)
                AND registered.item_column = ANY (pg_catalog.array_agg(part.attname::text))
            ORDER BY count(*), one.indexrelid LIMIT 1
        ) END
        """

    /// A rank column that the table lacks, NULL if it has all three. A statement that reads a missing column `rank` would call the
    /// server's function of this name instead.
    private static let missingRankColumn: SQL = """
        (SELECT wanted_rank.name
        FROM pg_catalog.unnest(ARRAY['', '_num', '_den']) AS ending
        CROSS JOIN LATERAL (SELECT registered.rank_column || ending) AS wanted_rank (name)
        WHERE NOT EXISTS (
            SELECT FROM pg_catalog.pg_attribute AS present
            WHERE present.attrelid = stored.attrelid AND present.attname = wanted_rank.name::name)
        LIMIT 1)
        """

    /// The function of another order that keeps ranks of this table, because the table had another name when it was attached. It would undo each
    /// move. NULL if there is none, and in the rows of list columns. Long names are shortened, and not compared.
    private static let keepFunctionOfOtherOrder: SQL = """
        CASE WHEN wanted.name = registered.item_column THEN (
            SELECT function.proname::text
            FROM pg_catalog.pg_trigger AS keeping
            JOIN pg_catalog.pg_proc AS function ON function.oid = keeping.tgfoid
            WHERE keeping.tgrelid = stored.attrelid AND keeping.tgname = (\(literal: OrderNames.triggerPrefix) || registered.rank_column || '_keep')::name
                AND function.pronamespace = 'brocot'::pg_catalog.regnamespace
                AND pg_catalog.octet_length('keep_' || registered.name) <= \(unsafeRaw: "\(OrderNames.lengthLimit)")
                AND function.proname <> ('keep_' || registered.name)::name
        ) END
        """

    /// The owner of a user's table, if the current role is a superuser that does not trust the owner: the table's triggers would run with its
    /// rights. NULL otherwise, and in the rows of list columns.
    private static let untrustedOwner: SQL = """
        CASE WHEN pg_catalog.current_setting('is_superuser') = 'on' AND registered.schema_name <> 'brocot'
            AND wanted.name = registered.item_column
        THEN (
            WITH RECURSIVE \(unsafeRaw: TrustedRoles.granted)
            SELECT owner.rolname::text
            FROM pg_catalog.pg_class AS target JOIN pg_catalog.pg_roles AS owner ON owner.oid = target.relowner
            WHERE target.oid = stored.attrelid AND NOT owner.rolsuper
                AND NOT EXISTS (SELECT FROM granted WHERE granted.oid = owner.oid)
        ) END
        """

    /// Whether the table has more than ``OrderedTable/mostPlannedPartitions``, on all levels. False in the rows of list columns.
    private static let hasManyPartitions: SQL = """
        wanted.name = registered.item_column AND (
            WITH RECURSIVE partition (oid) AS (
                SELECT child.inhrelid FROM pg_catalog.pg_inherits AS child WHERE child.inhparent = stored.attrelid
                UNION ALL
                SELECT child.inhrelid FROM partition JOIN pg_catalog.pg_inherits AS child ON child.inhparent = partition.oid
            )
            SELECT EXISTS (SELECT FROM partition OFFSET \(unsafeRaw: "\(OrderedTable.mostPlannedPartitions)"))
        )
        """

    /// See ``OrderedTable/listIsInKey``. The server compares the columns of the same indexes. False in the rows of list columns.
    private static let listIsInKey: SQL = """
        wanted.name = registered.item_column AND (
            EXISTS (SELECT FROM pg_catalog.pg_partitioned_table AS parent WHERE parent.partrelid = stored.attrelid)
            OR EXISTS (
                SELECT FROM pg_catalog.pg_index AS one
                CROSS JOIN LATERAL pg_catalog.unnest(one.indkey::int2[]) WITH ORDINALITY AS key (attnum, number)
                JOIN pg_catalog.pg_attribute AS part ON part.attrelid = one.indrelid AND part.attnum = key.attnum
                WHERE one.indrelid = stored.attrelid AND one.indisunique AND one.indpred IS NULL AND one.indexprs IS NULL
                    AND key.number <= one.indnkeyatts AND part.attname::text = ANY (registered.list_columns)))
        """
}
