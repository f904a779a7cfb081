import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Statements for reading lists in docs/sql.md", .database, .usualTimeLimit)
struct ReadingRecipeTests {
    /// Tasks of 1,000 projects with 60 tasks each, and a list of 60 notes among 1,000 lists.
    private static let tables = """
        CREATE TABLE tasks (
            id bigint PRIMARY KEY, project_id bigint NOT NULL, title text, rank_num bigint, rank_den bigint, rank numeric);
        CREATE UNIQUE INDEX brocot_tasks_rank ON tasks (project_id, rank);
        INSERT INTO tasks SELECT n, n / 60, 'title ' || n, n % 60, 1, n % 60 FROM generate_series(0, 59999) AS n;
        CREATE TABLE notes (id uuid PRIMARY KEY, text text);
        INSERT INTO notes SELECT md5(n::text)::uuid, 'note ' || n FROM generate_series(0, 59999) AS n;
        INSERT INTO brocot.items
        SELECT CASE n / 60 WHEN 7 THEN 'notes' ELSE 'list ' || n / 60 END, md5(n::text)::uuid::text, n % 60, 1, n % 60
        FROM generate_series(0, 59999) AS n;
        ANALYZE tasks; ANALYZE notes; ANALYZE brocot.items;
        """

    @Test(
        "Each documented statement for reading lists uses an index, does not sort, and returns the documented number of rows"
    )
    func plansAndResults() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: Self.tables)
        let statements = try Repository.statements(ofSection: "Reading lists", in: "docs/sql.md")
        #expect(statements.count == 8)
        for statement in statements {
            let rows = try await connection.query(SQL(unsafeRaw: "EXPLAIN \(statement)"))
            let plan = try rows.map { try $0.decode(0, as: String.self) }.joined(separator: "\n")
            #expect(plan.contains("Index Scan") || plan.contains("Index Only Scan"), "\(statement)\n\(plan)")
            #expect(!plan.contains("Sort") && !plan.contains("Seq Scan"), "\(statement)\n\(plan)")
        }
        var results: [String] = []
        for statement in statements {
            results.append("\(try await connection.query(SQL(unsafeRaw: statement)).count)")
        }
        #expect(results == ["20", "20", "12", "1", "60", "1", "20", "1"])
        let request = try await connection.query("SELECT placement || ' ' || list FROM brocot.move_requests").single()
        #expect(try request.decode(0, as: String.self) == "remove notes")
    }

    @Test("Under row-level security, a later page is read along the index once the comparisons of numeric are marked")
    func rowSecurity() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: Self.tables)
        let page = try #require(
            try Repository.statements(ofSection: "Reading lists", in: "docs/sql.md").first {
                $0.contains("rank > '19'")
            })
        try await TestRole.with(["app"], owner: connection) { roles in
            try await connection.execute(
                script: """
                    ALTER TABLE tasks ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON tasks USING (title <> '');
                    GRANT SELECT ON tasks TO \(roles[0].name)
                    """)
            func plan() async throws -> String {
                try await connection.execute(script: "SET ROLE \(roles[0].name)")
                let rows = try await connection.query(SQL(unsafeRaw: "EXPLAIN \(page)"))
                try await connection.execute(script: "RESET ROLE")
                return try rows.map { try $0.decode(0, as: String.self) }.joined(separator: "\n")
            }
            let before = try await plan()
            #expect(before.contains("Filter: ((title <> ''::text) AND (rank > '19'::numeric))"), "\(before)")
            try await connection.execute(
                script: Repository.statements(ofSection: "Ranks under row-level security", in: "docs/sql.md").joined())
            let after = try await plan()
            #expect(after.contains("Index Cond: ((project_id = 7) AND (rank > '19'::numeric))"), "\(after)")
        }
    }
}
