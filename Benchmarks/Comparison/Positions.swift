import ArgumentParser

/// Moves to random positions of a long list, as a ratio to moves to random anchors: queued at once, and one by one.
struct Positions: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "`at` against `after` in a long list.")

    @Option(help: "Items of the list.") var items = 1_000_000
    @Option(help: "Moves of each kind.") var requests = 1_000
    @Option(help: "Moves of each kind that are drained one by one.") var singles = 20

    func run() async throws {
        print("a list of \(items) items")
        try await BenchmarkServer.run { server in
            try await server.psql(file: "long-list.sql", ["items": items])
            for requests in [requests, 1] {
                let rounds = requests == 1 ? singles : 3
                var seconds: [String: Double] = [:]
                for _ in 0..<rounds {
                    for placement in ["after", "at"] {
                        let variables = ["items": items, "requests": requests, "at": placement == "at" ? 1 : 0]
                        try await server.psql(file: "long-list-moves.sql", variables)
                        seconds[placement, default: 0] += try await server.brocot("daemon", "--drain")
                    }
                }
                let (at, after) = (seconds["at", default: 0], seconds["after", default: 0])
                print(
                    "\(requests) at once: at \(rounded(at / Double(rounds) * 1000)) ms,",
                    "after \(rounded(after / Double(rounds) * 1000)) ms, ratio \(rounded(at / after))")
            }
        }
    }
}
