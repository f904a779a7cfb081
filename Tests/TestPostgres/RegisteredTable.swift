/// An ordered table that has only its row of `brocot.ordered_tables`, and none of what `brocot attach` creates. Making it takes no time.
package enum RegisteredTable {
    /// Cards on boards: the table `public.cards`. A card's name is unique on its board.
    package static let cards = script(columns: "board text, card text, PRIMARY KEY (board, card)")

    /// Creates and registers a table, whose ranks are unique in each list.
    ///
    /// - Parameters:
    ///   - name: The table's name with its schema, both as they are without quotes.
    ///   - columns: The definitions of all columns but those of the ranks, which come last, and further constraints.
    ///   - list: The column that names the list; with nil, all rows are one list.
    ///   - item: The column that names the item.
    ///   - ownsRows: Whether moves insert and delete its rows.
    /// - Returns: The statements, with a semicolon after each.
    package static func script(
        _ name: String = "public.cards", columns: String, list: String? = "board", item: String = "card",
        ownsRows: Bool = false
    ) -> String {
        let parts = name.split(separator: ".")
        return """
            CREATE TABLE \(name) (
                \(columns), rank_num bigint, rank_den bigint, rank numeric, UNIQUE (\(list.map { "\($0), " } ?? "")rank));
            INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
            VALUES ('\(name)', '\(parts[0])', '\(parts[1])', '{\(list ?? "")}', '\(item)', \(ownsRows));
            """
    }
}
