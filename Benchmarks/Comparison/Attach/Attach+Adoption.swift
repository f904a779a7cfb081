import LibPQ

/// Adopting the order of many rows, in one list and in many, while rows are inserted and moves are requested.
extension Attach {
    /// While the table is attached, rows whose id is divisible by this number are moved.
    private static let movedInterval = 1_000

    func adopt(on server: BenchmarkServer) async throws {
        for lists in [1, 100_000] {
            try await server.psql(file: "attach-table.sql", ["rows": adopted, "lists": lists])
            let (rows, database) = (adopted, server)
            try await server.daemon { _ in
                let inserter = Task { try await Self.insert(after: rows, lists: lists, on: database) }
                let seconds = try await database.brocot(
                    "attach", "public.tasks", "--item", "id", "--list", "project_id", "--order-by", "position")
                inserter.cancel()
                let inserted = try await inserter.value
                try await Self.waitUntilDecided(on: database)
                let misplaced = try await database.psql(statement: Self.misplaced(rows))
                let unplaced = try await database.psql(statement: "SELECT count(*) FROM tasks WHERE rank IS NULL")
                print(
                    "\(rows) rows in \(lists) lists: \(rounded(seconds)) s, \(inserted) rows inserted meanwhile,",
                    "\(misplaced) of them before rows that were there, \(unplaced) rows without a place")
            }
            try await server.brocot("detach", "public.tasks")
            try await server.psql(statement: "DROP TABLE tasks")
        }
    }

    /// Inserts rows and asks for moves until the task is cancelled, and returns how many rows there were.
    private static func insert(after rows: Int, lists: Int, on server: BenchmarkServer) async throws -> Int {
        let connection = try await server.connect()
        var inserted = 0
        while !Task.isCancelled {
            inserted += 1
            _ = try await connection.query(
                "INSERT INTO public.tasks (id, project_id, title) VALUES (\(rows + inserted), \(Int.random(in: 0..<lists)), 'new')",
                prepared: true)
            let moved = movedInterval * Int.random(in: 1...(rows / movedInterval))
            _ = try await connection.query(
                "SELECT brocot.move(\(moved % lists), \(moved), first => true, ordered_table => 'public.tasks')",
                prepared: true)
            try? await Task.sleep(for: .milliseconds(20))
        }
        await connection.close()
        return inserted
    }

    private static func waitUntilDecided(on server: BenchmarkServer) async throws {
        while try await server.psql(statement: "SELECT count(*) FROM brocot.move_requests") != "0" {
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// The number of new rows that are placed before an older row of their list that was not moved.
    private static func misplaced(_ rows: Int) -> String {
        """
        SELECT count(*)
        FROM tasks AS arrived
        JOIN (
            SELECT project_id, max(rank) AS rank FROM tasks
            WHERE id <= \(rows) AND id % \(movedInterval) <> 0 GROUP BY project_id
        ) AS last ON last.project_id = arrived.project_id
        WHERE arrived.id > \(rows) AND arrived.rank < last.rank
        """
    }
}
