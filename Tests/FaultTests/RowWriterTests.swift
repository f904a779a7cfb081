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

    /// The last row of list 1.
    private static let last = "(SELECT max(id) FROM visits WHERE board = 1)"

    /// What is found of list 1, and nothing else: its rows as they are, and as they shall be.
    private func rows(in violations: [String]) throws -> (actual: [Substring], expected: [Substring]) {
        try #require(violations.count == 1, "\(violations)")
        let match = try #require(
            violations[0].wholeMatch(of: /list 1 of public\.visits is \[(.*)\], not \[(.*)\]/), "\(violations)")
        return (match.1.split(separator: ", "), match.2.split(separator: ", "))
    }

    @Test("The check of rows finds a row that is gone") func gone() async throws {
        let found = try rows(in: try await violations(after: "DELETE FROM visits WHERE id = \(Self.last)"))
        #expect(found.actual == Array(found.expected.dropLast()))
    }

    @Test("The check of rows finds a row at another place") func anotherPlace() async throws {
        let found = try rows(
            in: try await violations(
                after: "UPDATE visits SET rank = -1, rank_num = -1, rank_den = 1 WHERE id = \(Self.last)"))
        #expect(found.actual == Array(found.expected.suffix(1)) + Array(found.expected.dropLast()))
    }

    @Test("The check of rows finds a row without a rank") func withoutRank() async throws {
        let found = try await violations(
            after: "UPDATE visits SET rank = NULL, rank_num = NULL, rank_den = NULL WHERE id = \(Self.last)")
        #expect(found == ["1 rows of public.visits have no rank"])
    }
}
