import ArgumentParser
import LibPQ

/// What it costs to attach a table, and what an attached table costs afterwards.
struct Attach: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Attaching a large table, and moves, inserts, updates and write-ahead log of attached tables.",
        discussion: "Without --only, all six parts run, one after the other.")

    enum Part: String, CaseIterable, ExpressibleByArgument {
        /// `brocot attach` of a large table that sessions write.
        case table
        /// `brocot attach` of many rows in one list and in 100,000, while rows are inserted and moves are requested.
        case adoption
        /// COPY into an attached table.
        case copy
        /// Draining moves of an attached table, against `brocot.items`.
        case moves
        /// INSERT and UPDATE with and without the triggers.
        case triggers
        /// Write-ahead log for each move, with columns in place and with a join table.
        case log
    }

    @Option(help: "Only this part.") var only: Part?
    @Option(help: "Rows of the table that is attached.") var rows = 3_000_000
    @Option(help: "Lists that these rows are in.") var lists = 3_000
    @Option(help: "Rows of the tables whose order is adopted.") var adopted = 1_000_000
    @Option(help: "Rows that are copied into a table.") var copied = 1_000_000
    @Option(help: "Sessions that write the table.") var writers = 2
    @Option(help: "Seconds for which the sessions write before the attach.") var seconds = 10
    @Option(help: "Moves that are drained at once.") var requests = 50_000
    @Option(help: "Rounds of moves. Statements for 1,000 rows have 20 times as many.") var rounds = 3

    func run() async throws {
        for part in only.map({ [$0] }) ?? Part.allCases {
            try await BenchmarkServer.run { server in
                switch part {
                case .table: try await attachTable(on: server)
                case .adoption: try await adopt(on: server)
                case .copy: try await copy(on: server)
                case .moves: try await compareMoves(on: server)
                case .triggers:
                    try await compareTriggers(referencing: false, on: server)
                    try await compareTriggers(referencing: true, on: server)
                case .log: try await compareLog(on: server)
                }
            }
        }
    }

    // MARK: A large table

    private func attachTable(on server: BenchmarkServer) async throws {
        try await server.psql(file: "attach-table.sql", ["rows": rows, "lists": lists])
        let fileBefore = try await file(of: server)
        let before = try await LiveWriters.run(writers, rows: rows, on: server) {
            try await Task.sleep(for: .seconds(seconds))
            return 0.0
        }
        let locks = try await LockSampler(server)
        async let sampling: Void = locks.run()
        let during = try await LiveWriters.run(writers, rows: rows, on: server) {
            try await server.brocot(
                "attach", "public.tasks", "--item", "id", "--list", "project_id", "--order-by", "position")
        }
        await locks.stop()
        try await sampling
        let placed = try await server.psql(statement: "SELECT count(*) FROM tasks WHERE rank IS NOT NULL")
        print(
            "attach of \(rows) rows in \(lists) lists: \(rounded(during.value)) s, \(placed) placed,",
            "relfilenode \(try await file(of: server) == fileBefore ? "unchanged" : "CHANGED")")
        for (mode, longest) in await locks.longest.sorted(by: { $0.key < $1.key }) {
            print("  longest \(mode): \(rounded(longest * 1_000)) ms")
        }
        for (phase, latencies) in [("before", before.latencies), ("during", during.latencies)] {
            print(
                "  updates by \(writers) sessions \(phase): \(latencies.count), p50",
                "\(milliseconds(latencies, 0.5)), p99 \(milliseconds(latencies, 0.99)), longest",
                "\(milliseconds(latencies, 1)) ms")
        }
    }

    private func file(of server: BenchmarkServer) async throws -> String {
        try await server.psql(statement: "SELECT pg_relation_filenode('tasks')")
    }

    private func milliseconds(_ latencies: [Double], _ share: Double) -> Double {
        guard !latencies.isEmpty else { return .nan }
        return rounded(latencies[min(latencies.count - 1, Int(Double(latencies.count) * share))] * 1_000)
    }

    // MARK: Moves

    private func compareMoves(on server: BenchmarkServer) async throws {
        let variables = ["lists": 1_000, "items": 100]
        try await server.psql(file: "attach-moves.sql", variables)
        try await server.brocot("attach", "public.tasks", "--item", "id", "--list", "project_id")
        try await server.brocot("attach", "public.songs", "--item", "song", "--list", "playlist", "--owns-rows")
        var speeds: [String: [Double]] = [:]
        // The first round warms the caches.
        for round in 0...rounds {
            for (number, table) in ["items", "public.tasks", "public.songs"].enumerated() {
                try await server.psql(
                    file: "attach-random-moves.sql", variables.merging(["requests": requests, "number": number]) { $1 })
                let speed = Double(requests) / (try await server.brocot("daemon", "--drain"))
                if round > 0 { speeds[table, default: []].append(speed) }
            }
        }
        let builtIn = median(speeds["items", default: []])
        print("\(requests) random moves in 1,000 lists of 100 rows, medians of \(rounds) rounds")
        for (table, speeds) in speeds.sorted(by: { $0.key < $1.key }) {
            print("  \(table): \(Int(median(speeds)))/s, ratio to brocot.items \(rounded(median(speeds) / builtIn))")
        }
    }

    // MARK: Triggers

    /// Measures two tables in turns, which differ only in the triggers. If they reference another table, their foreign key has a trigger of its own for
    /// each row.
    private func compareTriggers(referencing: Bool, on server: BenchmarkServer) async throws {
        print(referencing ? "Tables with a foreign key:" : "Tables without a foreign key:")
        try await server.psql(file: "attach-triggers.sql", ["references": referencing ? 1 : 0])
        for table in ["public.tasks", "public.peers"] {
            try await server.brocot("attach", table, "--item", "id", "--list", "project_id")
        }
        let connection = try await server.connect()
        try await connection.execute(script: "ALTER TABLE peers DISABLE TRIGGER USER")
        try await compareManyRows(on: connection)
        try await compareSingleRows(on: server)
        for table in ["public.tasks", "public.peers"] { try await server.brocot("detach", table) }
        try await server.psql(statement: "DROP TABLE tasks, peers, plain")
    }

    /// Statements for 1,000 rows. The ratio is the median of the ratios of two statements that run one after the other, because the speed of a
    /// machine can change meanwhile.
    private func compareManyRows(on connection: Connection) async throws {
        for (number, name) in Self.statements(on: "", 0).map(\.0).enumerated() {
            var seconds: [String: [Double]] = [:]
            for round in 0...(20 * rounds) {
                for table in round.isMultiple(of: 2) ? ["tasks", "peers"] : ["peers", "tasks"] {
                    let statement = Self.statements(on: table, round)[number].1
                    let start = ContinuousClock.now
                    try await connection.execute(script: statement)
                    let duration = start.duration(to: .now) / .seconds(1)
                    if round > 0 { seconds[table, default: []].append(duration) }
                }
            }
            let (with, without) = (seconds["tasks", default: []], seconds["peers", default: []])
            print(
                "\(name): \(rounded(median(with) * 1_000)) ms with triggers, \(rounded(median(without) * 1_000)) ms without,",
                "ratio \(rounded(median(zip(with, without).map { $0 / $1 })))")
        }
    }

    /// Statements for one row, each in a transaction of its own, against an attached table whose triggers are disabled, and against one that was
    /// never attached.
    private func compareSingleRows(on server: BenchmarkServer) async throws {
        let (plain, attached, withoutTriggers) = (0, 1, 2)
        for (inserts, name) in [(1, "INSERT of one row"), (0, "UPDATE of another column of one row")] {
            var speeds: [[Double]] = [[], [], []]
            for round in 0...rounds {
                let tables = [plain, attached, withoutTriggers]
                for table in round.isMultiple(of: 2) ? tables : tables.reversed() {
                    try await server.psql(statement: "TRUNCATE brocot.move_requests")
                    try await server.psql(statement: "CHECKPOINT")
                    let speed = try await server.pgbench(
                        file: "attach-one-row.sql", ["table": table, "inserts": inserts], sessions: 8, seconds: 3)
                    if round > 0 { speeds[table].append(speed) }
                }
            }
            let ratios = [withoutTriggers, plain].map { other in
                rounded(median(zip(speeds[attached], speeds[other]).map { $0 / $1 }))
            }
            print(
                "\(name), 8 sessions: \(Int(median(speeds[attached])))/s in an attached table, ratio \(ratios[0]) to the same without triggers,",
                "and \(ratios[1]) to a table that was never attached")
        }
    }

    private static func statements(on table: String, _ round: Int) -> [(String, String)] {
        let first = 1_000_000 + 1_000 * round
        let rows = (first..<first + 1_000).map { "(\($0 + 10_000_000), 7, 'title \($0)')" }.joined(separator: ", ")
        return [
            (
                "INSERT of 1,000 rows from generate_series",
                "INSERT INTO \(table) (id, project_id, title) SELECT n, 7, 'title ' || n FROM generate_series(\(first), \(first + 999)) AS n"
            ),
            // Applications, for example those with Rails or SQLAlchemy, send such a statement for many new rows.
            ("INSERT of 1,000 rows of VALUES", "INSERT INTO \(table) (id, project_id, title) VALUES \(rows)"),
            (
                "UPDATE of another column of 1,000 rows",
                "UPDATE \(table) SET title = 'round \(round)' WHERE id BETWEEN 5001 AND 6000"
            ),
        ]
    }

    // MARK: Write-ahead log

    /// The bytes that draining writes for each move, with the rows of the queue and its log, without images of full pages.
    private func compareLog(on server: BenchmarkServer) async throws {
        try await server.psql(statement: "ALTER SYSTEM SET full_page_writes = off")
        try await server.psql(statement: "SELECT pg_reload_conf()")
        let variables = ["lists": 1_000, "items": 100]
        for indexes in [0, 3, 8] {
            try await server.psql(file: "attach-moves.sql", variables.merging(["indexes": indexes]) { $1 })
            try await server.brocot("attach", "public.tasks", "--item", "id", "--list", "project_id")
            try await server.brocot("attach", "public.songs", "--item", "song", "--list", "playlist", "--owns-rows")
            var bytes: [Double] = []
            for number in [1, 2] {
                try await server.psql(
                    file: "attach-random-moves.sql", variables.merging(["requests": requests, "number": number]) { $1 })
                let before = try await server.psql(statement: "SELECT pg_current_wal_insert_lsn()")
                try await server.brocot("daemon", "--drain")
                let written = try await server.psql(
                    statement: "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '\(before)')")
                bytes.append(written.number / Double(requests))
            }
            print(
                "\(indexes) further indexes: \(Int(bytes[0])) bytes of write-ahead log for each move with columns in place,",
                "\(Int(bytes[1])) with a join table, ratio \(rounded(bytes[0] / bytes[1]))")
            for table in ["public.tasks", "public.songs"] { try await server.brocot("detach", table) }
        }
    }
}
