import ArgumentParser

/// The time to read pages of a list by rank, as a ratio to pages by an integer position, and by one whose index contains the item as
/// that of ranks does: with warm caches, in turn, and with prepared statements.
struct Pages: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Ordered pages against an integer position column.")

    @Option(help: "Items of the list.") var items = 1_000_000
    @Option(help: "Items of a page.") var size = 50
    @Option(help: "Sessions that read.") var sessions = 2
    @Option(help: "Rounds.") var rounds = 7
    @Option(help: "Seconds of each round.") var seconds = 3

    private var columns: [String] { ["rank", "position", "covered-position"] }

    func run() async throws {
        print("\(items) items, pages of \(size) from anywhere on, \(sessions) sessions, medians of \(rounds) rounds")
        try await BenchmarkServer.run { server in
            for (name, moved) in [("appended", 0), ("moved about, with 38 decimals", 1)] {
                try await server.psql(file: "pages.sql", ["items": items, "moved": moved])
                try await compare("\(name), pages", "page", sessions: sessions, on: server)
                try await compare("\(name), the whole list", "list", sessions: 1, on: server)
            }
        }
    }

    /// Reads by each column in turn, and prints the ratios of the times.
    private func compare(_ name: String, _ what: String, sessions: Int, on server: BenchmarkServer) async throws {
        var speeds: [String: [Double]] = [:]
        // The first round warms the caches.
        for round in 0...rounds {
            for column in columns {
                let speed = try await server.pgbench(
                    file: "\(what)-by-\(column).sql", ["items": items, "size": size], sessions: sessions,
                    seconds: seconds)
                if round > 0 { speeds[column, default: []].append(speed) }
            }
        }
        let medians = columns.map { median(speeds[$0, default: []]) }
        print(
            "\(name): by rank \(rounded(medians[0])) each second, by position \(rounded(medians[1])), by a position whose",
            "index contains the item \(rounded(medians[2])), time ratios \(rounded(medians[1] / medians[0])) and",
            "\(rounded(medians[2] / medians[0]))")
    }
}
