/// COPY of many new rows into an attached table, in one list and in 1,000, and the time until the daemon has placed them.
extension Attach {
    func copy(on server: BenchmarkServer) async throws {
        for lists in [1, 1_000] {
            for table in ["plain", "tasks"] {
                try await server.psql(
                    statement: "CREATE TABLE \(table) (id bigint PRIMARY KEY, project_id bigint NOT NULL)")
            }
            try await server.brocot("attach", "public.tasks", "--item", "id", "--list", "project_id")
            let plain = try await seconds(ofCopyInto: "plain", lists: lists, on: server)
            let attached = try await seconds(ofCopyInto: "tasks", lists: lists, on: server)
            let placing = try await server.brocot("daemon", "--drain")
            let misplaced = try await server.psql(statement: Self.misplacedAfterCopy)
            print(
                "COPY of \(copied) rows in \(lists) lists: \(rounded(attached)) s, and \(rounded(plain)) s into a table that is not attached;",
                "placed \(rounded(placing)) s later, \(misplaced) rows in a wrong place or in none")
            try await server.brocot("detach", "public.tasks")
            try await server.psql(statement: "DROP TABLE plain, tasks")
        }
    }

    private func seconds(ofCopyInto table: String, lists: Int, on server: BenchmarkServer) async throws -> Double {
        let rows = "seq \(copied) | awk ''{ print $1 \"\\t\" $1 % \(lists) }''"
        let start = ContinuousClock.now
        try await server.psql(statement: "COPY \(table) (id, project_id) FROM PROGRAM '\(rows)'")
        return start.duration(to: .now) / .seconds(1)
    }

    /// The number of rows that don't come after the row that was inserted before them in their list.
    private static let misplacedAfterCopy = """
        SELECT count(*)
        FROM (SELECT rank, lag(id) OVER (PARTITION BY project_id ORDER BY rank) > id AS is_wrong FROM tasks) AS placed
        WHERE rank IS NULL OR is_wrong
        """
}
