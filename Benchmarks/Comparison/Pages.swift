import ArgumentParser
import LibPQ

/// Reading a list in pages by rank, as a ratio to an integer position column with the same indexes, warm and in turns.
struct Pages: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Ordered pages against an integer position column.")

    @Option(help: "Items of the list.") var items = 1_000_000
    @Option(help: "Items of a page.") var size = 100
    @Option(help: "Rounds.") var rounds = 5

    func run() async throws {
        try await BenchmarkServer.run { server in
            for (name, moved) in [("appended", 0), ("each with a fraction of 38 decimals", 1)] {
                try await server.psql(file: "pages.sql", ["items": items, "moved": moved])
                let connection = try await server.connect()
                var seconds: [String: Double] = [:]
                for round in 0...rounds {
                    for (column, table) in [("rank", "brocot.items"), ("position", "positions")] {
                        let duration = try await read(table, by: column, on: connection)
                        // The first round warms the cache.
                        if round > 0 { seconds[table, default: 0] += duration }
                    }
                }
                let (ranked, positioned) = (seconds["brocot.items", default: 0], seconds["positions", default: 0])
                print(
                    "\(items) items, \(name), in pages of \(size): by rank \(rounded(ranked / Double(rounds))) s,",
                    "by position \(rounded(positioned / Double(rounds))) s, ratio \(rounded(ranked / positioned))")
            }
        }
    }

    /// Reads the whole list page by page, each from where the one before ended, and returns the seconds.
    private func read(_ table: String, by column: String, on connection: Connection) async throws -> Double {
        let page: @Sendable (String) -> SQL = { [size] last in
            """
            SELECT item, \(unsafeRaw: column)::text FROM \(unsafeRaw: table)
            WHERE list = 'l' AND \(unsafeRaw: column) > \(last)::text::\(unsafeRaw: column == "rank" ? "numeric" : "bigint")
            ORDER BY \(unsafeRaw: column) LIMIT \(size)
            """
        }
        let clock = ContinuousClock()
        let start = clock.now
        let found = try await connection.run { [items] connection throws(PostgresError) in
            var (last, found) = ("-1", 0)
            while found < items {
                let rows = try connection.query(page(last), prepared: true)
                guard let end = rows.last else { break }
                last = try end.decode(1)
                found += rows.count
            }
            return found
        }
        guard found == items else { throw ValidationError("\(found) of \(items) items were read") }
        return (clock.now - start) / .seconds(1)
    }
}
