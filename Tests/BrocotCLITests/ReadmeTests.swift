import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("README.md", .database, .usualTimeLimit) struct ReadmeTests {
    private static let section = "In SQL"

    @Test("The statements of the section In SQL work as they are printed, and show the printed ranks")
    func inSQL() async throws {
        let connection = try await TestDatabase.current.connect()
        let blocks = try Repository.statements(ofSection: Self.section, in: "README.md")
        try #require(blocks.count == 2)
        let printed = try printedRows()
        try await RunningBrocot.withDaemon { _ in
            for line in blocks[0].split(separator: "\n") {
                let statement = String(line.prefix { $0 != ";" })
                switch statement {
                case _ where statement.contains("pg_sleep"):
                    // What the reader waits for. A busy machine may need longer.
                    try await TestDatabase.current.waitUntilAllRequestsAreDecided()
                case _ where statement.contains("rank_num"):
                    #expect(try await Self.rows(statement, connection) == printed)
                case _ where statement.contains("LIMIT"):
                    #expect(try await Self.rows(statement, connection) == ["(eggs)"])
                default: try await connection.execute(SQL(unsafeRaw: statement))
                }
            }
            try await TestDatabase.current.waitUntilAllRequestsAreDecided()
            #expect(
                try await Self.rows(Self.order, connection) == ["(done,milk)", "(groceries,eggs)", "(groceries,bread)"])
            try await connection.execute(script: blocks[1])
            try await TestDatabase.current.waitUntilAllRequestsAreDecided()
        }
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
    }

    @Test(
        "The table of the section Your own tables is attached in its order, moved in, and detached with the printed option"
    )
    func ownTables() async throws {
        let (connection, section) = (try await TestDatabase.current.connect(), "Your own tables")
        let table = try Repository.statements(ofSection: section, in: "README.md")[0]
        let attach = try Repository.code(in: "sh", ofSection: section, in: "README.md")[0]
        let text = try Repository.text(of: "README.md")
        let move = try #require(text.firstMatch(of: /`(SELECT brocot\.move\(7, 42, .+?)`/)).1
        try await connection.execute(script: table)
        let attached = try await BrocotProcess.run(GuideTests.arguments(of: attach.dropLast()))
        #expect(attached.exitCode == 0, "\(attached.errors)")
        let items: SQL = "SELECT string_agg(id::text, ' ' ORDER BY rank) FROM tasks"
        #expect(try await connection.query(items).single().decode(0, as: String.self) == "41 42 43")
        try await connection.execute("SELECT brocot.move_now(7, 43, first => true, ordered_table => 'public.tasks')")
        try await connection.execute("SELECT brocot.move_now(7, 42, first => true, ordered_table => 'public.tasks')")
        try await connection.execute(script: String(move))
        try await drain()
        #expect(try await connection.query(items).single().decode(0, as: String.self) == "43 41 42")
        let detach = try #require(text.firstMatch(of: /`(brocot detach .+?)`/)).1
        let detached = try await BrocotProcess.run(GuideTests.arguments(of: detach) + ["public.tasks"])
        #expect(detached.exitCode == 0, "\(detached.errors)")
    }

    private static let order = "SELECT list, item FROM brocot.items ORDER BY list, rank"

    /// The rows of the printed table, as PostgreSQL writes a row.
    private func printedRows() throws -> [String] {
        let table = try #require(
            try Repository.code(in: "", ofSection: Self.section, in: "README.md").first { $0.contains("rank_num") })
        return table.split(separator: "\n").dropFirst(2).map { line in
            "(" + line.split(separator: "|").map { $0.filter { $0 != " " } }.joined(separator: ",") + ")"
        }
    }

    private static func rows(_ statement: String, _ connection: Connection) async throws -> [String] {
        try await connection.query("SELECT listed::text FROM (\(unsafeRaw: statement)) AS listed").map {
            try $0.decode(0)
        }
    }
}
