import ArgumentParser

/// The cost of a move in a long list, as a ratio to short lists in a table of the same size: one list with all items, and the same
/// number of items in lists of 1,000. So indexes and caches are the same, and only the lists differ.
struct ListSizes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list-sizes", abstract: "A move in a long list against one in a short list.")

    @Option(help: "Items of a short list.") var short = 1_000
    @Option(help: "Items of the long list.") var long = 1_000_000
    @Option(help: "Moves that are queued at once.") var requests = 20_000
    @Option(help: "Moves that are queued one at a time.") var singles = 500
    @Option(help: "Rounds.") var rounds = 3

    func run() async throws {
        print("one list of \(long) items, against \(long / short) lists of \(short)")
        // The buffers can contain the whole tables, so the disk has no influence.
        try await BenchmarkServer.run(sharedBuffers: "4GB") { server in
            var (batches, singles): ([Int: Double], [Int: Double]) = ([:], [:])
            for items in [short, long] {
                try await server.psql(file: "list-sizes.sql", ["items": items, "lists": long / items])
                for round in 0...rounds {
                    try await server.psql(
                        file: "list-sizes-moves.sql", ["items": items, "lists": long / items, "requests": requests])
                    let seconds = try await server.brocot("daemon", "--drain", "--workers", "1")
                    // The first round warms the caches.
                    if round > 0 { batches[items, default: 0] += seconds / Double(rounds * requests) }
                }
                try await server.psql(statement: "CHECKPOINT")
                singles[items] = try await oneByOne(items, on: server)
            }
            for (name, seconds) in [("\(requests) queued at once", batches), ("one at a time", singles)] {
                let (few, many) = (seconds[short, default: 0], seconds[long, default: 0])
                print(
                    "\(name): \(rounded(few * 1e6)) µs a move in short lists, \(rounded(many * 1e6)) µs in the long one,",
                    "ratio \(rounded(many / few))")
            }
        }
    }

    /// The median seconds from the commit of a move to that of its outcome.
    private func oneByOne(_ items: Int, on server: BenchmarkServer) async throws -> Double {
        let clock = ContinuousClock()
        let box = Durations()
        try await server.daemon { _ in
            let connection = try await server.connect()
            for _ in 0..<singles {
                let (list, item, hop) = (
                    Int.random(in: 1...long / items), Int.random(in: 0..<items), Int.random(in: 1..<items)
                )
                let (moved, anchor) = ("i\(1 + item)", "i\(1 + (item + hop) % items)")
                let request = try await connection.query(
                    "SELECT brocot.move(\("l\(list)"), \(moved), after => \(anchor))"
                ).single().decode(0, as: Int.self)
                let duration = try await clock.measure {
                    while try await connection.query("SELECT FROM brocot.move_log WHERE id = \(request)").isEmpty {}
                }
                await box.append(duration)
            }
        }
        return await box.median / .seconds(1)
    }

    private actor Durations {
        private var durations: [Duration] = []
        func append(_ duration: Duration) { durations.append(duration) }
        var median: Duration { durations.sorted()[durations.count / 2] }
    }
}
