import ArgumentParser

/// The daemon's memory with a long queue, and with long requests.
struct Memory: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The daemon's memory with a long queue and long requests.")

    @Option(help: "Pending requests.") var pending = 5_000_000
    @Option(help: "Requests of 10,000 items each.") var long = 200
    @Option(help: "Requests of 10,000 items with keys of 1,000 bytes each, the longest that there can be.")
    var longest = 24
    @Option(help: "Workers of the daemon with the longest requests; give it several times to see what each one needs.")
    var workers = [2]
    @Option(help: "Seconds to look at each.") var seconds = 20

    func run() async throws {
        try await BenchmarkServer.run { server in
            try await server.psql(
                statement: """
                    INSERT INTO brocot.move_requests (list, items, placement)
                    SELECT 'l' || n % 10000, ARRAY['i' || n], 'last' FROM generate_series(1, \(pending)) AS n;
                    """)
            try await report(server, "\(pending) pending requests")
            try await server.psql(
                statement: """
                    TRUNCATE brocot.items, brocot.move_requests, brocot.move_log;
                    INSERT INTO brocot.move_requests (list, items, placement)
                    SELECT 'l' || n % 3, array_agg(repeat('i', 30) || item ORDER BY random()), 'first'
                    FROM generate_series(1, \(long)) AS n, generate_series(1, 10000) AS item GROUP BY n;
                    """)
            try await report(server, "\(long) requests of 10,000 items")
            for workers in workers {
                try await server.psql(
                    statement: """
                        TRUNCATE brocot.items, brocot.move_requests, brocot.move_log;
                        INSERT INTO brocot.move_requests (list, items, placement)
                        SELECT 'l' || n, array_agg(lpad(n || '.' || item, 1000, 'x') ORDER BY item), 'first'
                        FROM generate_series(1, \(longest)) AS n, generate_series(1, 10000) AS item GROUP BY n;
                        """)
                try await report(server, "\(longest) requests of 10,000 items, 10 MB each, \(workers) workers", workers)
            }
        }
    }

    private func report(_ server: BenchmarkServer, _ what: String, _ workers: Int = 2) async throws {
        let memory = try await server.daemon("--workers", "\(workers)") { _ in
            try await Task.sleep(for: .seconds(seconds))
        }
        let done = try await server.psql(statement: "SELECT count(*) FROM brocot.move_log")
        print("\(what): at most \(memory / 1024) MB; \(done) were applied meanwhile")
    }
}
