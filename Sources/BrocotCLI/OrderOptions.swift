import Administration
import ArgumentParser
import LibPQ
import Ordering

/// The options that name an order of a table.
struct OrderOptions: ParsableArguments {
    @Argument(help: "The table, as schema.table or table, exactly as the database has it and without quotes.")
    var table: String

    @Option(
        help: "The column of the sort key. The two columns of the exact fraction have this name with _num and _den.")
    var rank = OrderNames.usualRankColumn

    /// The names of the order. The schema is the one in which the table is found. `reason` is the error for the built-in table.
    func names(on connection: Connection, builtIn reason: String) async throws -> OrderNames {
        guard table != "brocot.items" else { throw CommandFailure(.usage, reason) }
        let parts = table.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        if parts.count == 2 { return OrderNames(schema: parts[0], table: parts[1], rank: rank) }
        let schema = try await connection.run { [table] connection throws(PostgresError) in
            try TableReader.schema(of: table, on: connection)
        }
        guard let schema else {
            guard table != "items" else { throw CommandFailure(.usage, reason) }
            throw CommandFailure(
                .usage,
                "The search_path contains no table \(table.printable). Give its schema: schema.\(table.printable)")
        }
        return OrderNames(schema: schema, table: table, rank: rank)
    }
}

/// The help of arguments and options that name an ordered table. `Connection.orderedTable(named:)` finds the name in the registry.
let orderedTableHelp = """
    The ordered table: items for the built-in one, schema.table for your own. A schema in the search_path may be left out. For an order \
    whose rank column is not called rank: schema.table.column.
    """
