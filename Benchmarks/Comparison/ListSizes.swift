import ArgumentParser

/// What a move costs in a long list, as a ratio to a short one.
struct ListSizes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "A move in a long list against one in a short list.")

    @Option(help: "Items of the short list.") var short = 1_000
    @Option(help: "Items of the long list.") var long = 10_000_000
    @Option(help: "Moves.") var requests = 1_000
    @Option(help: "Rounds.") var rounds = 5

    func run() async throws {
        try await BenchmarkServer.run { server in
            var seconds: [Int: Double] = [:]
            for items in [short, long] {
                try await server.psql(file: "long-list.sql", ["items": items])
                for _ in 0..<rounds {
                    try await server.psql(
                        file: "long-list-moves.sql", ["items": items, "requests": requests, "at": 0])
                    seconds[items, default: 0] += try await server.brocot("daemon", "--drain", "--workers", "1")
                }
            }
            let (few, many) = (seconds[short, default: 0], seconds[long, default: 0])
            print(
                "\(requests) moves: list of \(short) \(rounded(few / Double(rounds) * 1000)) ms,",
                "list of \(long) \(rounded(many / Double(rounds) * 1000)) ms, ratio \(rounded(many / few))")
        }
    }
}
