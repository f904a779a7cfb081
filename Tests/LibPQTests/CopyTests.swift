import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("COPY", .commonDatabase, .usualTimeLimit) struct CopyTests {
    private func connectWithTable() async throws -> Connection {
        let connection = try await connect()
        try await connection.execute(script: "CREATE TEMPORARY TABLE texts (position bigint, text text)")
        return connection
    }

    @Test("COPY transfers every text and NULL unchanged") func everyText() async throws {
        let connection = try await connectWithTable()
        let texts = CodecTests.hostileTexts + ["\\.", "\\\\N", "a\\tb", "\r\n"]
        let rows: [[String?]] = texts.enumerated().map { ["\($0)", $1] } + [["-1", nil]]
        #expect(try await connection.copyIn("COPY texts FROM STDIN", rows: rows) == rows.count)
        let copied: [String?] = try await connection.query("SELECT text FROM texts ORDER BY position")
            .map { try $0.decode(0) }
        #expect(copied == [nil] + texts)
    }

    @Test("COPY transfers 50,000 rows completely") func manyRows() async throws {
        let connection = try await connectWithTable()
        let count = try await connection.run { connection in
            try connection.copyIn(
                "COPY texts FROM STDIN", rows: (0..<50_000).lazy.map { ["\($0)", "some text, number \($0)"] })
        }
        #expect(count == 50_000)
        let row = try await connection.query("SELECT count(*), sum(position)::bigint FROM texts").single()
        #expect(try row.decode(0) == 50_000)
        #expect(try row.decode(1) == 49_999 * 25_000)
    }

    @Test("COPY of no rows succeeds") func noRows() async throws {
        let connection = try await connectWithTable()
        #expect(try await connection.copyIn("COPY texts FROM STDIN", rows: [[String?]]()) == 0)
    }

    @Test("COPY copies no rows if the server refuses one row") func refusedRow() async throws {
        let connection = try await connectWithTable()
        let error = try await postgresError {
            _ = try await connection.run { connection in
                // Long enough for the refusal to come while rows are still being sent.
                let rows = (0..<100_000).lazy.map { number -> [String?] in [number == 10 ? "ten" : "\(number)", "text"]
                }
                return try connection.copyIn("COPY texts FROM STDIN", rows: rows)
            }
        }
        #expect(error.code == .server)
        #expect(error.sqlState == .invalidTextRepresentation)
        #expect(error.context?.contains("COPY texts, line 11, column position: \"ten\"") == true)
        #expect(try await connection.query("SELECT 1 FROM texts").isEmpty)
    }

    @Test("COPY refuses text with NUL, and copies no rows") func refusesNUL() async throws {
        let connection = try await connectWithTable()
        let error = try await postgresError {
            try await connection.copyIn("COPY texts FROM STDIN", rows: [["1", "a"], ["2", "b\u{0}"]])
        }
        #expect(error.code == .invalidValue)
        #expect(error.message.hasPrefix("row 2, value 2 of COPY: "))
        #expect(try await connection.query("SELECT 1 FROM texts").isEmpty)
    }

    @Test("COPY reports a statement that the server refuses") func refusedStatement() async throws {
        let connection = try await connect()
        let error = try await postgresError {
            try await connection.copyIn("COPY missing FROM STDIN", rows: [["1"]])
        }
        #expect(error.sqlState == .undefinedTable)
    }

    @Test("A cancelled task stops its COPY, and no rows are copied") func cancelledCopy() async throws {
        let connection = try await connectWithTable()
        let task = Task {
            try await connection.run { connection in
                let endless = sequence(first: 0) { $0 + 1 }.lazy.map { number -> [String?] in ["\(number)", "text"] }
                _ = try connection.copyIn("COPY texts FROM STDIN", rows: endless)
            }
        }
        try await waitForStatement(containing: "COPY texts", of: connection)
        task.cancel()
        #expect(try await postgresError { try await task.value(until: "the cancelled COPY ended") }.code == .cancelled)
        #expect(try await connection.query("SELECT 1 FROM texts").isEmpty)
    }
}
