import LibPQ
import Ordering

/// The SQL of the objects that make a table an ordered table. All names in it are qualified or in `pg_catalog`.
struct OrderObjects {
    let definition: OrderDefinition
    /// The list columns, then the item column.
    let keys: [TableDescription.Column]
    /// Whether rows may change partitions.
    let isPartitioned: Bool
    /// Whether a column of the table gets numbers of a sequence, or did so when the triggers were made.
    let usesSequence: Bool

    var names: OrderNames { definition.names }
    var lists: [TableDescription.Column] { keys.dropLast() }

    /// - Parameters:
    ///   - definition: the order.
    ///   - keys: the list columns and then the item column, as the catalog has them.
    ///   - table: the table.
    init(_ definition: OrderDefinition, keys: [TableDescription.Column], on table: TableDescription) {
        self.definition = definition
        self.keys = keys
        isPartitioned = table.kind == .partitionedTable
        usesSequence =
            table.columns.contains(where: \.usesSequence) || table.triggers[definition.names.drawTrigger] != nil
    }

    /// The table, quoted.
    var table: String { names.quoted }

    var rankColumns: [String] { names.rankColumns.map(quoteIdentifier) }

    // MARK: Functions

    /// Returns from a trigger function if the table, a key column or a rank column was renamed or changed. Then no places are requested, so
    /// that no statement of the user fails.
    ///
    /// All names are qualified, because one of the functions runs with the caller's `search_path`. The catalog is read without
    /// `to_regclass`, which raises an error for a schema that the function's role may not use. Conditions without a query are apart
    /// from those with one, because PL/pgSQL evaluates them in a tenth of the time. A row trigger may run for a partition.
    func returnIfTableIsChanged(_ result: String) -> String {
        let equals = "OPERATOR(pg_catalog.=)"
        let (schema, table) = (quoteLiteral(names.schema), quoteLiteral(names.table))
        let columns =
            keys.map {
                """
                stored.attname \(equals) \(quoteLiteral($0.name)) \
                AND \(isOfType($0))
                """
            }
            + names.rankColumns.map { "stored.attname \(equals) \(quoteLiteral($0))" }
        let wanted = Set(keys.map(\.name)).count + 3
        return """
                IF TG_LEVEL \(equals) 'ROW' THEN
                    IF (SELECT space.nspname \(equals) \(schema) AND relation.relname \(equals) \(table)
                        FROM pg_catalog.pg_class AS relation
                        JOIN pg_catalog.pg_namespace AS space ON space.oid \(equals) relation.relnamespace
                        WHERE relation.oid \(equals) coalesce(pg_catalog.pg_partition_root(TG_RELID), TG_RELID)) IS NOT TRUE
                    THEN
                        RETURN \(result);
                    END IF;
                ELSIF TG_TABLE_SCHEMA OPERATOR(pg_catalog.<>) \(schema) OR TG_TABLE_NAME OPERATOR(pg_catalog.<>) \(table) THEN
                    RETURN \(result);
                END IF;
                IF (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute AS stored
                    WHERE stored.attrelid \(equals) TG_RELID AND (\(columns.joined(separator: " OR ")))) OPERATOR(pg_catalog.<) \(wanted)
                THEN
                    RETURN \(result);
                END IF;
            """
    }

    /// Whether the column `stored` of the catalog has the type of this column. The schema and the name are compared separately, because a text of
    /// both depends on the session's `quote_all_identifiers`.
    private func isOfType(_ column: TableDescription.Column) -> String {
        if column.typeSchema == "pg_catalog" {
            return "stored.atttypid OPERATOR(pg_catalog.=) \(quoteLiteral(column.type))::pg_catalog.regtype"
        }
        return """
            EXISTS (SELECT FROM pg_catalog.pg_type AS type \
            JOIN pg_catalog.pg_namespace AS space ON space.oid OPERATOR(pg_catalog.=) type.typnamespace \
            WHERE type.oid OPERATOR(pg_catalog.=) stored.atttypid \
            AND space.nspname OPERATOR(pg_catalog.=) \(quoteLiteral(column.typeSchema)) \
            AND type.typname OPERATOR(pg_catalog.=) \(quoteLiteral(column.typeName)))
            """
    }

    /// Whether a row is in another list than before.
    func changesList(_ old: String, _ new: String) -> String {
        lists.isEmpty
            ? "false"
            : lists.map { "\(old).\(quoteIdentifier($0.name)) IS DISTINCT FROM \(new).\(quoteIdentifier($0.name))" }
                .joined(separator: " OR ")
    }

    var functions: [TriggerFunction] {
        [keep] + (lists.isEmpty ? [] : [leave]) + (definition.arrive != .none ? [arrive] : [])
            + (drawsIDs ? [draw] : []) + (definition.arriveNow ? [place] : [])
    }
}
