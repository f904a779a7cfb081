import LibPQ
import Subprocess
import TestLimit
import TestPostgres
import Testing

@testable import FaultHarness

@Suite("Check of rows that SQL inserts and deletes", .database, .usualTimeLimit) struct RowWriterTests {
    /// Rows that were written and placed, after `change`.
    private func violations(after change: String? = nil) async throws -> [String] {
        let url = TestDatabase.current.loopbackURL
        let connection = try await TestDatabase.current.connect()
        try await RowWriter.createTable(by: connection, url: url)
        var writer = RowWriter(url: url, seed: 1)
        for _ in 0..<60 { try await writer.write() }
        try await OwnerCommand.run("daemon", "--drain", url: url)
        if let change {
            try await connection.execute(script: "SET session_replication_role = replica; \(change)")
        }
        return try await writer.violations(on: connection)
    }

    @Test("The check of rows finds no fault if the daemon placed the rows in the order of their arrival")
    func faultless() async throws {
        #expect(try await violations() == [])
    }

    @Test(
        "The check of rows finds a row that is gone, at another place, or without a rank",
        arguments: [
            "DELETE FROM visits WHERE id = (SELECT id FROM visits LIMIT 1)",
            "UPDATE visits SET rank = -1, rank_num = -1, rank_den = 1 WHERE id = (SELECT max(id) FROM visits WHERE board = 1)",
            "UPDATE visits SET rank = NULL, rank_num = NULL, rank_den = NULL WHERE id = (SELECT id FROM visits LIMIT 1)",
        ]) func wrong(change: String) async throws
    {
        #expect(try await violations(after: change) != [])
    }
}
