import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Log of rebalances", .database, .usualTimeLimit) struct RebalanceLogTests {
    private struct Line: Decodable {
        let level: String
        let message: String
        let metadata: Metadata?
    }

    /// Other lines of the log may lack any of these fields.
    private struct Metadata: Decodable {
        let list: String?
        let rows: Int?
        let window: String?
        let cause: String?
    }

    @Test("Each rebalance is logged once, with the list, the window and the request that caused it")
    func rebalance() async throws {
        let connection = try await TestDatabase.current.connect()
        // No rank is left between the two greatest integers.
        try await connection.execute(
            """
            INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
            SELECT list, item, rank, 1, rank
            FROM (VALUES ('full', 'a', 4611686018427387902), ('full', 'b', 4611686018427387903), ('roomy', 'c', 0))
                AS row (list, item, rank)
            """)
        try await connection.execute("SELECT brocot.move('roomy', 'd', after => 'c')")
        let request = try await connection.query("SELECT brocot.move('full', 'x', after => 'a')").single()
            .decode(0, as: Int64.self)

        let daemon = try await BrocotProcess.run("daemon", "--drain", "--log-format", "json")
        #expect(daemon.exitCode == 0)
        let lines = try daemon.errors.split(separator: "\n")
            .map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
            .filter { $0.message == "rebalanced" }
        #expect(lines.count == 1, "\(daemon.errors)")
        let line = try #require(lines.first)

        #expect(line.level == "info")
        #expect(line.metadata?.list == "items/full")
        #expect(line.metadata?.cause == "request \(request)")

        // The line of the log agrees with the database.
        let logged = try await connection.query("SELECT rebalanced_rows FROM brocot.move_log WHERE list = 'full'")
        #expect(try logged.single().decode(0, as: Int.self) == 1)
        #expect(line.metadata?.rows == 1)
        let ranks = try await connection.query(
            "SELECT item, rank_num || '/' || rank_den FROM brocot.items WHERE list = 'full' ORDER BY rank")
        #expect(try ranks.map { try $0.decode(0, as: String.self) } == ["a", "x", "b"])
        let (first, last): (String, String) = (try ranks[0].decode(1), try ranks[1].decode(1))
        #expect(line.metadata?.window == "1 before and 0 after, from \(first) to \(last)")
    }
}
