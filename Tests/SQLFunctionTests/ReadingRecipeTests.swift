import Foundation
import LibPQ
import TestPostgres
import Testing

@Suite("Statements for reading lists in docs/sql.md", .database, .timeLimit(.minutes(30)))
struct ReadingRecipeTests {
    /// The statements of the page's section on reading lists.
    private static func statements() throws -> [String] {
        let page = try Repository.text(of: "docs/sql.md")
        let start = try #require(page.range(of: "\n## Reading lists\n"))
        let rest = page[start.upperBound...]
        let section = rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)]
        return section.components(separatedBy: "```sql\n").dropFirst().map { part in
            String(part[..<(part.range(of: "```")?.lowerBound ?? part.endIndex)])
        }
    }

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
        let statements = try Self.statements()
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
}
