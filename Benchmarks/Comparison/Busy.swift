import ArgumentParser

/// A busy application beside the daemon on the same machine: what it asks for and what the daemon decides at the same time, against
/// sessions that only enqueue, and against the double midpoint under a list lock. Then what enqueuing costs by itself.
struct Busy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sessions that ask for moves beside a daemon, with the latency under load.")

    @Option(help: "Items of each list.") var items = 10_000
    @Option(help: "Sessions.") var sessions = 8
    @Option(help: "Workers of the daemon.") var workers = 2
    @Option(help: "Values of --max-delay, in milliseconds.") var maxDelay = [0, 20]
    @Option(help: "Rounds.") var rounds = 3
    @Option(help: "Seconds of each round.") var seconds = 8

    func run() async throws {
        print("\(sessions) sessions, lists of \(items) items, medians of \(rounds) rounds")
        // The time of a COMMIT is the end of a request's wait.
        try await BenchmarkServer.run(settings: ["track_commit_timestamp": "on"]) { server in
            for lists in [1, 64] { try await compare(lists, on: server) }
            try await enqueuing(on: server)
        }
    }

    private func compare(_ lists: Int, on server: BenchmarkServer) async throws {
        let variables = ["lists": lists, "items": items]
        try await server.psql(file: "at-once.sql", variables)
        var (alone, midpoints): ([Double], [Double]) = ([], [])
        var beside: [Int: [UnderLoad]] = [:]
        for _ in 1...rounds {
            alone.append(try await pgbench("busy-move.sql", variables, on: server))
            midpoints.append(try await pgbench("at-once-function.sql", variables, on: server))
            for delay in maxDelay {
                beside[delay, default: []].append(try await underLoad(variables, delay, on: server))
            }
        }
        print(
            "\(lists) lists: enqueuing alone \(Int(median(alone)))/s,",
            "double midpoint under a list lock \(Int(median(midpoints)))/s")
        for delay in maxDelay {
            let loads = beside[delay, default: []]
            let decided = median(loads.map(\.decided))
            print(
                "  --max-delay \(delay): \(Int(decided))/s decided, ratio to enqueuing alone \(rounded(decided / median(alone))),",
                "to the midpoint \(rounded(decided / median(midpoints)));",
                "\(Int(median(loads.map(\.batch)))) requests a batch, latency p50 \(rounded(median(loads.map(\.p50)))) ms,",
                "p99 \(rounded(median(loads.map(\.p99)))) ms; enqueued \(Int(median(loads.map(\.enqueued))))/s")
        }
    }

    /// The figures of one run with a daemon. Latencies are in milliseconds, from the begin of the transaction that asks to the
    /// COMMIT of the one that decides.
    private struct UnderLoad: Sendable {
        var (enqueued, decided, batch, p50, p99) = (0.0, 0.0, 0.0, 0.0, 0.0)
    }

    private func underLoad(
        _ variables: [String: Int], _ delay: Int, on server: BenchmarkServer
    ) async throws -> UnderLoad {
        try await server.psql(statement: "TRUNCATE brocot.move_requests, brocot.move_log")
        let box = Box()
        try await server.daemon("--workers", "\(workers)", "--max-delay", "\(delay)") { _ in
            var load = UnderLoad()
            load.enqueued = try await pgbench("busy-move.sql", variables, on: server, clears: false)
            let figures = try await server.psql(
                statement: """
                    SELECT concat_ws(' ', count(*), count(DISTINCT decision),
                        percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY wait))
                    FROM (
                        SELECT xid AS decision,
                            1000 * extract(epoch FROM pg_xact_commit_timestamp(xid::xid) - requested_at) AS wait
                        FROM brocot.move_log
                    ) AS decided
                    """
            ).split { " {},".contains($0) }.map { String($0).number }
            (load.decided, load.batch) = (figures[0] / Double(seconds), figures[0] / figures[1])
            (load.p50, load.p99) = (figures[2], figures[3])
            await box.set(load)
        }
        return await box.load
    }

    private actor Box {
        private(set) var load = UnderLoad()
        func set(_ load: UnderLoad) { self.load = load }
    }

    /// Compares INSERTs into the queue with calls of the function, and with INSERTs into a table that has the same columns and only the
    /// primary key.
    private func enqueuing(on server: BenchmarkServer) async throws {
        try await server.psql(
            statement: """
                CREATE TABLE plain_requests (LIKE brocot.move_requests INCLUDING DEFAULTS INCLUDING IDENTITY, PRIMARY KEY (id))
                """)
        let variables = ["lists": 64, "items": items]
        var speeds: [String: [Double]] = [:]
        for _ in 1...rounds {
            for kind in ["plain", "insert", "move"] {
                try await server.psql(statement: "TRUNCATE plain_requests")
                speeds[kind, default: []].append(try await pgbench("busy-\(kind).sql", variables, on: server))
            }
        }
        let (plain, insert, move) = (
            median(speeds["plain", default: []]), median(speeds["insert", default: []]),
            median(speeds["move", default: []])
        )
        print(
            "enqueuing without a daemon: INSERT with only the primary key \(Int(plain))/s, INSERT \(Int(insert))/s,",
            "ratio \(rounded(insert / plain)), brocot.move \(Int(move))/s, ratio to INSERT \(rounded(move / insert))")
    }

    private func pgbench(
        _ file: String, _ variables: [String: Int], on server: BenchmarkServer, clears: Bool = true
    ) async throws -> Double {
        if clears { try await server.psql(statement: "TRUNCATE brocot.move_requests, brocot.move_log") }
        try await server.psql(statement: "CHECKPOINT")
        return try await server.pgbench(file: file, variables, sessions: sessions, seconds: seconds)
    }
}
