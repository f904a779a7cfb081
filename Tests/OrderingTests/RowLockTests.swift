import LibPQ
import SternBrocot
import TestLimit
import TestPostgres
import Testing

@testable import Ordering

@Suite("Rows that an application changes at the same time", .database, .usualTimeLimit)
struct RowLockTests {
    private static let cards = OrderedTable(
        name: "public.cards", schema: "public", table: "cards", listColumns: [KeyColumn("board", .text)],
        itemColumn: KeyColumn("id", .text), ownsRows: true)

    private static let newRank = RowChange(
        key: "a", storedList: "b", list: "b", rank: Rank(numerator: 7, denominator: 1))

    /// Writes a change while an application has changed the row and not committed yet.
    private func write(_ change: RowChange = newRank, whileApplicationDoes statement: String) async throws -> Connection
    {
        let (application, writer) = (
            try await TestDatabase.current.connect(), try await TestDatabase.current.connect()
        )
        try await application.execute(
            script: """
                CREATE TABLE cards (
                    id text PRIMARY KEY, board text, title text, rank_num bigint, rank_den bigint,
                    rank numeric,
                    UNIQUE (board, rank) DEFERRABLE);
                INSERT INTO cards (id, board, rank_num, rank_den, rank) VALUES ('a', 'b', 1, 1, 1)
                """)
        try await application.execute(script: "BEGIN")
        try await application.execute(script: statement)
        async let written: Void = writer.run { connection in
            try connection.transaction(settings: MoveApplication.plannerSettings) { connection in
                try OrderedTableRepository(Self.cards).write([change], waitsForRows: true, on: connection)
            }
        }
        try await TestDatabase.current.waitUntilBlocked(writer, by: application)
        try await application.execute(script: "COMMIT")
        try await written
        return application
    }

    @Test("A writer waits for a row that an application changes, and then writes the rank into the new version")
    func changedRow() async throws {
        let connection = try await write(whileApplicationDoes: "UPDATE cards SET title = 'new'")
        let row = try await connection.query("SELECT title, rank_num FROM cards").first
        #expect(try row?.decode(0, as: String?.self) == "new")
        #expect(try row?.decode(1, as: Int64?.self) == 7)
    }

    @Test("A writer waits for a row that an application changes, and then deletes its new version") func deletedRow()
        async throws
    {
        let deletion = RowChange(key: "a", storedList: "b", list: nil, rank: nil)
        let connection = try await write(deletion, whileApplicationDoes: "UPDATE cards SET title = 'new'")
        #expect(try await connection.query("SELECT FROM cards").isEmpty)
    }

    @Test("A writer writes no rank into a row that has left its list")
    func rowThatLeaves() async throws {
        do {
            _ = try await write(whileApplicationDoes: "UPDATE cards SET board = 'another'")
            Issue.record("a rank was written into another list")
        } catch OrderingError.unexpectedRowCount(_, let expected, let written) {
            #expect((expected, written) == (1, 0))
        }
    }
}
