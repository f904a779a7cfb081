import ArgumentParser
import LibPQ

/// How soon an idle daemon applies a request, and how much waking it costs the inserting sessions.
struct WakingUp: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waking-up", abstract: "Latency of an idle daemon, and the cost of waking it.")

    @Option(help: "Requests, one at a time.") var requests = 500
    @Option(help: "Sessions that enqueue at full speed.") var sessions = 8
    @Option(help: "Rounds with the triggers and without.") var rounds = 11
    @Option(help: "Seconds of each round.") var seconds = 3

    func run() async throws {
        try await BenchmarkServer.run { server in
            try await latency(server)
            try await cost(server)
        }
    }

    /// The time from the commit of a request to the commit of its outcome, as a listener notices it. It is measured alternately with
    /// single-row UPDATEs.
    private func latency(_ server: BenchmarkServer) async throws {
        try await server.psql(
            statement: """
                CREATE TABLE counter (id integer PRIMARY KEY, n bigint); INSERT INTO counter VALUES (1, 0);
                CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN NOTIFY decided; RETURN NULL; END $$;
                CREATE TRIGGER tell AFTER INSERT ON brocot.move_log FOR EACH STATEMENT EXECUTE FUNCTION tell();
                """)
        try await server.daemon { _ in
            let (connection, listener) = (try await server.connect(), try await server.connect())
            try await listener.execute("LISTEN decided")
            var (updates, answers): ([Duration], [Duration]) = ([], [])
            let clock = ContinuousClock()
            for number in 0..<(requests + 20) {
                try await Task.sleep(for: .milliseconds(Int.random(in: 10...40)))
                let update = try await clock.measure {
                    _ = try await connection.execute("UPDATE counter SET n = n + 1 WHERE id = 1")
                }
                try await connection.execute("SELECT brocot.move('l', \("i\(number % 50)"), first => true)")
                let answer = try await clock.measure {
                    while try await listener.run({ listener throws(PostgresError) in
                        try listener.notifications(waitingAtMost: .seconds(5))
                    }).isEmpty {}
                }
                guard number >= 20 else { continue }
                updates.append(update)
                answers.append(answer)
            }
            report(updates.sorted(), answers.sorted())
        }
        try await server.psql(statement: "DROP TRIGGER tell ON brocot.move_log")
    }

    private func report(_ updates: [Duration], _ answers: [Duration]) {
        for (name, share) in [("median", 0.5), ("99th percentile", 0.99)] {
            let (update, answer) = (
                updates[Int(Double(updates.count) * share)], answers[Int(Double(answers.count) * share)]
            )
            print(
                "\(name): a request is applied \(rounded(answer / .milliseconds(1))) ms after its commit;",
                "an UPDATE takes \(rounded(update / .milliseconds(1))) ms, its median",
                "\(rounded(updates[updates.count / 2] / .milliseconds(1))) ms,",
                "ratio to that \(rounded(answer / updates[updates.count / 2]))")
        }
    }

    /// The speed of sessions that insert requests, alternately with the triggers and without them: while a daemon works, and
    /// without a daemon.
    private func cost(_ server: BenchmarkServer) async throws {
        try await server.daemon { _ in try await compare(server, "while a daemon works") }
        try await compare(server, "with no daemon")
    }

    private func compare(_ server: BenchmarkServer, _ what: String) async throws {
        var speeds: [String: [Double]] = [:]
        for round in 0..<rounds {
            // The queue grows all the time, so the order changes from round to round.
            for triggers in round.isMultiple(of: 2) ? ["ENABLE", "DISABLE"] : ["DISABLE", "ENABLE"] {
                try await server.psql(
                    statement: "TRUNCATE brocot.move_log; ALTER TABLE brocot.move_requests \(triggers) TRIGGER USER")
                try await server.psql(statement: "CHECKPOINT")
                let speed = try await server.pgbench(file: "enqueue.sql", sessions: sessions, seconds: seconds)
                speeds[triggers, default: []].append(speed)
            }
        }
        try await server.psql(statement: "ALTER TABLE brocot.move_requests ENABLE TRIGGER USER")
        let (with, without) = (speeds["ENABLE", default: []], speeds["DISABLE", default: []])
        // The ratio is computed for each round, because the machine's speed changes.
        let ratios = zip(with, without).map { $0 / $1 }.sorted()
        print(
            "\(sessions) sessions that enqueue, \(what): \(Int(median(with))) requests/s,",
            "without triggers \(Int(median(without))), ratio \(rounded(median(ratios))),",
            "that of a round \(rounded(ratios[0])) to \(rounded(ratios[ratios.count - 1]))")
    }
}
