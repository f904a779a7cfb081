import LibPQ

/// Reads lists in their order.
struct ListReader {
    let connection: Connection

    /// Reads the first items of a list.
    ///
    /// - Parameters:
    ///   - list: The list's key, as text.
    ///   - table: What move requests call the ordered table: `items`, else `schema.table`.
    ///   - limit: How many items at most.
    /// - Returns: The items in order; none where there is no such list.
    /// - Throws: ``CommandFailure`` `.migrationsPending` where Brocot's schema is missing, `.usage` where no such table
    ///   is registered or `list` is no value of its list column; else `PostgresError`.
    func items(of list: String, in table: String, limit: Int) async throws -> [RankedItem] {
        let source = try await source(of: table)
        let rows = try await rows(source.statement(list: list, limit: limit)) { error in
            guard error.sqlState?.classCode == "22" else { return nil }
            return .impossibleList(list, in: table, because: error.message)
        }
        return try rows.enumerated().map { position, row in
            RankedItem(
                position: position, item: try row.decode(0), rankNumerator: try row.decode(1),
                rankDenominator: try row.decode(2), rank: try row.decode(3))
        }
    }

    private func source(of table: String) async throws -> Source {
        let rows = try await rows(Source.lookup(table)) { [connection] error in
            guard let state = error.sqlState, SQLState.missingSchema.contains(state) else { return nil }
            return .schemaMissing(connection)
        }
        guard let row = rows.first else { throw CommandFailure.notAnOrderedTable(table) }
        return Source(
            schema: try row.decode(0), table: try row.decode(1), listColumn: try row.decode(2),
            listType: try row.decode(3), itemColumn: try row.decode(4))
    }

    /// The rows of a query; `refusal` may know better words for its failure.
    private func rows(_ statement: SQL, refusal: (PostgresError) -> CommandFailure?) async throws -> Rows {
        do {
            return try await connection.query(statement)
        } catch {
            throw refusal(error) ?? error
        }
    }

    /// Where a list's rows are.
    private struct Source {
        let schema: String
        let table: String
        let listColumn: String
        /// As the server writes it, with any modifiers.
        let listType: String
        let itemColumn: String

        static func lookup(_ table: String) -> SQL {
            """
            SELECT t.schema_name, t.table_name, t.list_column,
                   pg_catalog.format_type(a.atttypid, a.atttypmod), t.item_column
            FROM brocot.ordered_tables AS t
            JOIN pg_catalog.pg_namespace AS n ON n.nspname = t.schema_name
            JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = t.table_name
            JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attname = t.list_column
            WHERE t.name = \(table)
            """
        }

        /// Items without a rank are in no order, so they are left out. Qualified, since a bare `rank` after ORDER BY would
        /// be the text of the first line.
        func statement(list: String, limit: Int) -> SQL {
            """
            SELECT t.\(identifier: itemColumn)::pg_catalog.text, t.rank_num, t.rank_den, t.rank::pg_catalog.text
            FROM \(identifier: schema).\(identifier: table) AS t
            WHERE t.\(identifier: listColumn) = \(list)::pg_catalog.text::\(unsafeRaw: listType) AND t.rank IS NOT NULL
            ORDER BY t.rank
            LIMIT \(Int64(limit))
            """
        }
    }
}
