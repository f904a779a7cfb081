import ArgumentParser
import LibPQ

/// How lists affect each other: one list with a long queue, many lists with short ones, and pairs of lists that exchange items.
struct Fairness: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "One long queue beside others, many short ones, and pairs of lists.")

    @Option(help: "Requests that one list has pending.") var deep = 1_000_000
    @Option(help: "Requests in all, for many lists and for pairs.") var requests = 100_000

    func run() async throws {
        try await BenchmarkServer.run { server in
            try await manyLists(server)
            try await pairs(server)
            try await deepList(server)
        }
    }

    /// As many lists as requests, against lists with 100 each, in turns.
    private func manyLists(_ server: BenchmarkServer) async throws {
        var (few, many): ([Double], [Double]) = ([], [])
        for _ in 0..<5 {
            few.append(try await drain(lists: requests / 100, server))
            many.append(try await drain(lists: requests, server))
        }
        // The ratio is computed for each round, because the machine's speed changes.
        let ratios = zip(many, few).map { $0 / $1 }
        print(
            "\(requests) requests: in \(requests / 100) lists \(Int(median(few)))/s, in \(requests) lists \(Int(median(many)))/s,",
            "ratio \(rounded(median(ratios))), of the rounds \(ratios.map(rounded))")
    }

    /// The requests per second of a daemon that drains all requests, which are for new items of this many lists.
    private func drain(lists: Int, _ server: BenchmarkServer) async throws -> Double {
        try await server.psql(
            statement: """
                TRUNCATE brocot.items, brocot.move_requests, brocot.move_log;
                INSERT INTO brocot.move_requests (list, items, placement)
                SELECT 'l' || n % \(lists), ARRAY['i' || n], 'last' FROM generate_series(1, \(requests)) AS n;
                """)
        try await server.psql(statement: "VACUUM ANALYZE brocot.move_requests")
        return Double(requests) / (try await server.brocot("daemon", "--drain"))
    }

    /// Changes of list between two lists of each pair, in both directions and all queued at once.
    private func pairs(_ server: BenchmarkServer) async throws {
        for pairs in [1, 8, 50] {
            var speeds: [Double] = []
            for workers in [1, 8] {
                try await server.psql(
                    statement: """
                        TRUNCATE brocot.items, brocot.move_requests, brocot.move_log;
                        INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
                        SELECT 'l' || pair || side, 'i' || n || side, n, 1, n
                        FROM generate_series(1, \(pairs)) AS pair, unnest('{a,b}'::text[]) AS side,
                            generate_series(1, \(requests / 4 / pairs)) AS n;
                        INSERT INTO brocot.move_requests (list, from_list, items, placement)
                        SELECT 'l' || pair || CASE WHEN (side = 'a') = forth THEN 'b' ELSE 'a' END,
                            'l' || pair || CASE WHEN (side = 'a') = forth THEN 'a' ELSE 'b' END,
                            ARRAY['i' || n || side], 'last'
                        FROM unnest('{t,f}'::boolean[]) WITH ORDINALITY AS direction (forth, turn),
                            generate_series(1, \(requests / 4 / pairs)) AS n, generate_series(1, \(pairs)) AS pair,
                            unnest('{a,b}'::text[]) AS side
                        ORDER BY turn, n;
                        """)
                try await server.psql(statement: "VACUUM ANALYZE brocot.move_requests")
                let seconds = try await server.brocot("daemon", "--drain", "--workers", "\(workers)")
                let applied = try await server.psql(
                    statement: "SELECT count(*) FROM brocot.move_log WHERE outcome = 'applied'")
                speeds.append((Double(applied) ?? 0) / seconds)
            }
            print(
                "\(pairs) pairs of lists that change items both ways: 1 worker \(Int(speeds[0]))/s,",
                "8 workers \(Int(speeds[1]))/s")
        }
    }

    /// A single request for another list, while one list has a long queue.
    private func deepList(_ server: BenchmarkServer) async throws {
        try await server.psql(
            statement: """
                TRUNCATE brocot.items, brocot.move_requests, brocot.move_log;
                INSERT INTO brocot.move_requests (list, items, placement)
                SELECT 'deep', ARRAY['i' || n % 10000], 'last' FROM generate_series(1, \(deep)) AS n;
                """)
        try await server.daemon("--workers", "1") { _ in
            let connection = try await server.connect()
            var batches: [Int] = []
            for number in 1...10 {
                try await Task.sleep(for: .milliseconds(200))
                let list = "other \(number)"
                try await connection.execute("SELECT brocot.move(\(list), 'x', last => true)")
                let asked = try await connection.query("SELECT clock_timestamp()").single().decode(
                    0, as: Timestamp.self)
                while try await connection.query("SELECT FROM brocot.items WHERE list = \(list)").isEmpty {
                    try await Task.sleep(for: .milliseconds(2))
                }
                batches.append(
                    try await connection.query(
                        """
                        SELECT count(DISTINCT applied_at) FROM brocot.move_log
                        WHERE applied_at > \(asked)
                            AND applied_at <= (SELECT applied_at FROM brocot.move_log WHERE list = \(list))
                        """
                    ).single().decode(0))
            }
            let left = try await connection.query("SELECT count(*) FROM brocot.move_requests").single()
                .decode(0, as: Int.self)
            print(
                "one list with \(deep) pending requests (\(left) at the end): a request of another list is in batch",
                "\(batches.map(String.init).joined(separator: ", ")) from its commit on")
        }
    }
}
