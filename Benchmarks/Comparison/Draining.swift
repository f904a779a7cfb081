import ArgumentParser

/// The speed of `brocot daemon --drain` as a ratio to set-based SQL on the same server, measured alternately.
struct Draining: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Draining speed against set-based SQL.")

    @Option(help: "Lists.") var lists = 1000
    @Option(help: "Items in each list.") var items = 100
    @Option(help: "Queued moves.") var requests = 200_000
    @Option(help: "Workers of the daemon.") var workers = 2
    @Option(help: "Rounds.") var rounds = 3

    func run() async throws {
        let variables = ["lists": lists, "items": items, "requests": requests]
        print("\(requests) random moves in \(lists) lists of \(items) items, \(workers) workers")
        try await BenchmarkServer.run { server in
            for round in 1...rounds {
                let limit = Double(try await server.psql(file: "set-based-limit.sql", variables)) ?? 0
                try await server.psql(file: "random-moves.sql", variables)
                let speed = Double(requests) / (try await server.brocot("daemon", "--drain", "--workers", "\(workers)"))
                print(
                    "round \(round): \(Int(speed)) requests/s, limit \(Int(limit)) requests/s,",
                    "ratio \(rounded(speed / limit))")
            }
        }
    }
}
