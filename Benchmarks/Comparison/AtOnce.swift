import ArgumentParser

/// `brocot.move_now` as a ratio to the double midpoint under a list lock, in turns: as a function, and as the statements that a
/// library sends. Draining the same moves from the queue beside it.
struct AtOnce: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "move_now against the double midpoint under a list lock.")

    @Option(help: "Items of each list.") var items = 10_000
    @Option(help: "Sessions that move.") var sessions = 8
    @Option(help: "Rounds.") var rounds = 5
    @Option(help: "Seconds of each.") var seconds = 5
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
        }
    }
}
