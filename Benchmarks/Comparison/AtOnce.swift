import ArgumentParser

/// The speed of `brocot.move_now` as a ratio to that of the double midpoint under a list lock, alternately as a function and as
/// the statements that a library sends. For comparison, the same moves are also drained from the queue.
struct AtOnce: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "move_now against the double midpoint under a list lock.")

    @Option(help: "Items of each list.") var items = 10_000
    @Option(help: "Sessions that move items.") var sessions = 8
    @Option(help: "Rounds.") var rounds = 5
    @Option(help: "Seconds of each round.") var seconds = 5
    @Option(help: "Moves that are drained.") var requests = 50_000

    func run() async throws {
        print("lists of \(items) items, \(sessions) sessions, medians of \(rounds) rounds")
        try await BenchmarkServer.run { server in
            for lists in [1, 64] {
                let variables = ["lists": lists, "items": items]
                try await server.psql(file: "at-once.sql", variables)
                var speeds: [String: [Double]] = [:]
                // The first round warms the caches.
                for round in 0...rounds {
                    for kind in ["move", "function", "statements"] {
                        let speed = try await server.pgbench(
                            file: "at-once-\(kind).sql", variables, sessions: sessions, seconds: seconds)
                        if round > 0 { speeds[kind, default: []].append(speed) }
                    }
                }
                let (move, function, statements) = (
                    median(speeds["move", default: []]), median(speeds["function", default: []]),
                    median(speeds["statements", default: []])
                )
                try await server.psql(
                    file: "random-moves.sql", ["lists": lists, "items": items, "requests": requests])
                let drained = Double(requests) / (try await server.brocot("daemon", "--drain"))
                print(
                    "\(lists) lists: move_now \(Int(move))/s, midpoint as statements \(Int(statements))/s,",
                    "ratio \(rounded(move / statements)), as a function \(Int(function))/s,",
                    "ratio \(rounded(move / function)); drained from the queue \(Int(drained))/s")
            }
            try await compareSizes(on: server)
        }
    }

    /// Compares a list of 1,000 items with a list of 1,000,000, in turns. Each list is in a database of its own.
    private func compareSizes(on server: BenchmarkServer) async throws {
        let short = (server: try await server.database("short"), variables: ["lists": 1, "items": 1_000])
        let long = (server: try await server.database("long"), variables: ["lists": 1, "items": 1_000_000])
        var speeds: [[Double]] = [[], []]
        for size in [short, long] { try await size.server.psql(file: "at-once.sql", size.variables) }
        for round in 0...rounds {
            for (number, size) in [short, long].enumerated() {
                let speed = try await size.server.pgbench(
                    file: "at-once-move.sql", size.variables, sessions: sessions, seconds: seconds)
                if round > 0 { speeds[number].append(speed) }
            }
        }
        let (thousand, million) = (median(speeds[0]), median(speeds[1]))
        print(
            "one list of 1,000: \(Int(thousand))/s, of 1,000,000: \(Int(million))/s;",
            "a move in the longer one costs \(rounded(thousand / million)) times as much")
    }
}
