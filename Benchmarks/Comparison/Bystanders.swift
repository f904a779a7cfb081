import ArgumentParser
import LibPQ

/// How long moves in healthy lists take while many other lists can't be served.
struct Bystanders: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Moves in healthy lists beside locked rows, locked lists and lists whose trigger fails.")

    @Option(help: "Moves in healthy lists, one after the other.") var moves = 300
    @Option(help: "Healthy lists.") var lists = 20
    @Option(help: "Workers of the daemon.") var workers = 2

    func run() async throws {
        print(
            "\(moves) moves in \(lists) healthy lists, \(workers) workers; milliseconds from the commit to the outcome")
        try await measure("nothing", pending: 0, .none)
        try await measure("200 lists with a locked row", pending: 200, .lockedRows)
        try await measure("5,000 locked lists", pending: 5_000, .lockedLists)
        for (name, failure) in [
            ("refused on purpose", "RAISE EXCEPTION 'no'"),
            ("without a right", "RAISE insufficient_privilege"),
            ("that meets a lock", "RAISE lock_not_available"),
            ("with a missing function", "PERFORM missing()"),
            ("that returns NULL", "RETURN NULL"),
        ] {
            try await measure("2,000 lists whose trigger fails, \(name)", pending: 2_000, .trigger(failure))
        }
    }

    private enum Hindrance {
        case none
        case lockedRows
        case lockedLists
        case trigger(_ body: String)
    }

    private func measure(_ name: String, pending: Int, _ hindrance: Hindrance) async throws {
        try await BenchmarkServer.run { server in
            let hindering = try await server.connect()
            let healthyLists = lists
            try await server.psql(
                statement: """
                    INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
                    SELECT 'hindered ' || l, 'i' || i, i, 1, i
                    FROM generate_series(1, \(pending)) AS l, generate_series(1, 3) AS i
                    UNION ALL
                    SELECT 'healthy ' || l, 'i' || i, i, 1, i
                    FROM generate_series(0, \(healthyLists - 1)) AS l, generate_series(1, 100) AS i;
                    INSERT INTO brocot.move_requests (list, items, placement, anchor)
                    SELECT 'hindered ' || l, '{i1}', 'after', 'i2' FROM generate_series(1, \(pending)) AS l;
                    ANALYZE brocot.items, brocot.move_requests
                    """)
            switch hindrance {
            case .none: break
            case .lockedRows:
                try await hindering.execute(
                    script: "BEGIN; SELECT FROM brocot.items WHERE list LIKE 'hindered %' AND item = 'i1' FOR UPDATE")
            case .lockedLists:
                try await hindering.execute(
                    script:
                        "SELECT pg_advisory_lock(brocot.list_lock_key(ordered_table, list)) FROM brocot.move_requests")
            case .trigger(let body):
                try await hindering.execute(
                    script: """
                        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(body); RETURN NEW; END $$;
                        CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON brocot.items FOR EACH ROW
                        WHEN (NEW.list LIKE 'hindered %') EXECUTE FUNCTION fail()
                        """)
            }
            let count = moves
            try await server.daemon("--workers", "\(workers)") { _ in
                let latencies = try await Self.latencies(count, lists: healthyLists, on: server)
                let (first, later) = (latencies.prefix(count / 10), latencies.dropFirst(count / 10))
                print(
                    "beside \(name): \(Self.shown(latencies)); first tenth \(Self.shown(first)); later \(Self.shown(later))"
                )
            }
            try await expectPending(pending, hindrance, on: server)
            withExtendedLifetime(hindering) {}
        }
    }

    /// Checks that the other lists were hindered until the end: their requests are still pending.
    private func expectPending(_ number: Int, _ hindrance: Hindrance, on server: BenchmarkServer) async throws {
        let left = try await server.psql(statement: "SELECT count(*) FROM brocot.move_requests")
        switch hindrance {
        case .none, .lockedRows, .lockedLists:
            guard Int(left) == number else { throw ValidationError("\(left) of \(number) requests are pending") }
        case .trigger: break
        }
    }

    /// Makes moves one after the other, and returns the milliseconds that each waited for its outcome.
    private static func latencies(_ moves: Int, lists: Int, on server: BenchmarkServer) async throws -> [Double] {
        let connection = try await server.connect()
        var latencies: [Double] = []
        for number in 0..<moves {
            let start = ContinuousClock.now
            let id = try await connection.query(
                "SELECT brocot.move('healthy ' || \(number % lists)::int, 'i' || \(1 + number % 99)::int, first => true)"
            ).single().decode(0, as: Int.self)
            while try await connection.query("SELECT FROM brocot.move_log WHERE id = \(id)").isEmpty {
                try await Task.sleep(for: .milliseconds(1))
            }
            latencies.append(start.duration(to: .now) / .milliseconds(1))
        }
        return latencies
    }

    private static func shown(_ latencies: some Sequence<Double>) -> String {
        let sorted = latencies.sorted()
        let (half, most) = (sorted[sorted.count / 2], sorted[sorted.count * 99 / 100])
        return "p50 \(rounded(half)), p99 \(rounded(most)), longest \(rounded(sorted.last ?? 0))"
    }
}
