import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Statements", .commonDatabase, .usualTimeLimit) struct StatementTests {
    @Test("A statement returns the number of rows that it changed") func numberOfChangedRows() async throws {
        let connection = try await connect()
        #expect(try await connection.execute("CREATE TEMPORARY TABLE numbers (number bigint)") == 0)
        #expect(try await connection.execute("INSERT INTO numbers SELECT generate_series(1, 5)") == 5)
        #expect(try await connection.execute("UPDATE numbers SET number = number + \(1) WHERE number > \(3)") == 2)
        #expect(try await connection.execute("DELETE FROM numbers WHERE false") == 0)
        let rows = try await connection.query("DELETE FROM numbers RETURNING number")
        #expect(rows.affectedRows == 5)
        #expect(rows.count == 5)
        #expect(try rows[0].decode("number", as: Int64.self) == 1)
    }

    @Test("Columns are decoded by the cases of an enumeration, from any column on") func columnsOfEnumeration()
        async throws
    {
        enum Column: Int {
            case name, price
        }
        let row = try await connect().query("SELECT 'pen', 3, 'ink', 5")[0]
        #expect(try row.decode(Column.name) == "pen")
        #expect(try row.decode(Column.price, as: Int.self) == 3)
        #expect(try row.decode(Column.name, from: 2) == "ink")
        #expect(try row.decode(Column.price, from: 2, as: Int.self) == 5)
    }

    @Test("An error contains all fields that the server reports", .database(migrated: false)) func allFieldsOfError()
        async throws
    {
        let connection = try await connect()
        try await connection.execute(
            script: """
                CREATE SCHEMA shop;
                CREATE TABLE shop.orders (number bigint CONSTRAINT number_is_positive CHECK (number > 0))
                """)
        let error = try await postgresError { try await connection.execute("INSERT INTO shop.orders VALUES (\(-1))") }
        #expect(error.code == .server)
        #expect(error.sqlState == .checkViolation)
        #expect(error.sqlState?.classCode == "23")
        #expect(error.schema == "shop")
        #expect(error.constraint == "number_is_positive")
        #expect(error.detail == "Failing row contains (-1).")
        #expect(!error.isConnectionLost)
        #expect(error.description.contains("(SQLSTATE 23514)\nDetail: Failing row contains (-1)."))
        let raised = try await postgresError {
            try await connection.execute(
                script: "DO $$ BEGIN RAISE EXCEPTION 'no' USING HINT = 'try yes'; END $$")
        }
        #expect(raised.message == "no")
        #expect(raised.hint == "try yes")
        #expect(raised.context?.contains("RAISE") == true)
        let misspelt = try await postgresError { try await connection.execute("SELECT nothing") }
        #expect(misspelt.position == 8)
    }

    @Test("An error can be caught by its SQLSTATE") func catchesBySQLState() async throws {
        let connection = try await connect()
        var matched = ""
        do {
            try await connection.execute("SELECT 1 FROM missing")
        } catch SQLState.uniqueViolation {
            matched = "unique violation"
        } catch SQLState.undefinedTable {
            matched = "undefined table"
        } catch {
            throw error
        }
        #expect(matched == "undefined table")
    }

    @Test("A script of several statements is one transaction", .database(migrated: false)) func scriptIsTransaction()
        async throws
    {
        let connection = try await connect()
        let error = try await postgresError {
            try await connection.execute(
                script: "CREATE TABLE one (); CREATE TABLE two (); SELECT 1/0; CREATE TABLE three ()")
        }
        #expect(error.sqlState?.rawValue == "22012")
        #expect(try await connection.query("SELECT 1 FROM pg_class WHERE relname IN ('one', 'two', 'three')").isEmpty)
        try await connection.execute(script: "CREATE TABLE one (); CREATE TABLE two ();")
        #expect(try await connection.query("SELECT 1 FROM pg_class WHERE relname IN ('one', 'two')").count == 2)
    }

    @Test("An empty statement does nothing") func emptyStatement() async throws {
        let connection = try await connect()
        try await connection.execute(script: " -- nothing\n")
        #expect(try await connection.query("").isEmpty)
    }

    @Test("COPY as an ordinary statement is refused, and the connection stays usable") func copyAsStatement()
        async throws
    {
        let connection = try await connect()
        try await connection.execute(script: "CREATE TEMPORARY TABLE numbers (number bigint)")
        for script in ["COPY numbers FROM STDIN", "COPY (SELECT generate_series(1, 100000)) TO STDOUT"] {
            let error = try await postgresError { try await connection.execute(script: script) }
            #expect(error.code == .protocolMisuse)
            #expect(try await connection.query("SELECT 7")[0].decode(0) == 7)
        }
    }

    @Test("A statement with too many parameters is refused") func tooManyParameters() async throws {
        let connection = try await connect()
        let values = (0..<70_000).map { number -> SQL in "\(number)" }
        let error = try await postgresError { _ = try await connection.query("SELECT 1 IN (\(values.joined()))") }
        #expect(error.code == .protocolMisuse)
        #expect(error.message.contains("65535"))
        #expect(try await connection.query("SELECT 7")[0].decode(0) == 7)
    }

    @Test("A large answer to a large query is received completely") func largeAnswer() async throws {
        let connection = try await connect()
        let texts = (0..<20).map { String(repeating: "\($0 % 10)", count: 1 << 20) }
        let rows = try await connection.query("SELECT unnest(\(texts)), repeat('x', 1048576)")
        #expect(try rows.map { try $0.decode(0) } == texts)
    }

    @Test("A prepared statement is parsed only once") func parsedOnce() async throws {
        let connection = try await connect()
        for number in 0..<10 {
            #expect(try await connection.query("SELECT \(number) + 1", prepared: true)[0].decode(0) == number + 1)
            #expect(try await connection.execute("SELECT \("x")::text", prepared: true) == 1)
        }
        let statements = try await connection.query("SELECT statement FROM pg_prepared_statements ORDER BY 1")
        #expect(try statements.map { try $0.decode(0) } == ["SELECT $1 + 1", "SELECT $1::text"])
    }

    @Test("A prepared statement fails once after its table changed, and is then parsed again") func parsedAgain()
        async throws
    {
        let connection = try await connect()
        try await connection.execute(script: "CREATE TEMPORARY TABLE numbers (number bigint)")
        _ = try await connection.query("SELECT * FROM numbers", prepared: true)
        try await connection.execute(script: "ALTER TABLE numbers ADD name text")
        let error = try await postgresError { _ = try await connection.query("SELECT * FROM numbers", prepared: true) }
        #expect(error.sqlState == .featureNotSupported)
        try await connection.execute("INSERT INTO numbers VALUES (1, 'one')")
        let row = try await connection.query("SELECT * FROM numbers", prepared: true).single()
        #expect(try row.decode("name") == "one")
    }

    @Test("Prepared statements that differ only in Unicode normalization are kept apart") func unicodeNormalization()
        async throws
    {
        let connection = try await connect()
        for letter in ["\u{e9}", "e\u{301}"] {
            let text = try await connection.query("SELECT '\(unsafeRaw: letter)'", prepared: true)[0].decode(
                0, as: String.self)
            #expect(Array(text.utf8) == Array(letter.utf8))
        }
    }

    @Test("Statements beyond the limit of prepared statements are parsed each time") func beyondLimit() async throws {
        let connection = try await connect()
        for number in 0..<300 {
            #expect(
                try await connection.query("SELECT \(unsafeRaw: "\(number)")", prepared: true)[0].decode(0) == number)
        }
        #expect(try await connection.query("SELECT count(*) FROM pg_prepared_statements")[0].decode(0) == 256)
    }

    @Test("Statements that can't be prepared don't count towards the limit") func unpreparedDoNotCount() async throws {
        let connection = try await connect()
        for _ in 0..<300 {
            await #expect(throws: PostgresError.self) {
                _ = try await connection.query("SELECT missing_column", prepared: true)
            }
        }
        #expect(try await connection.query("SELECT 1", prepared: true)[0].decode(0) == 1)
        #expect(try await connection.query("SELECT count(*) FROM pg_prepared_statements")[0].decode(0) == 1)
    }

    @Test("The client encoding is UTF-8 even if the parameters ask for another encoding") func clientEncoding()
        async throws
    {
        let connection = try await connect { $0["client_encoding"] = "LATIN1" }
        #expect(await connection.parameterStatus("client_encoding") == "UTF8")
    }

    @Test("Notices and warnings of the server are logged") func logsNotices() async throws {
        let recorder = LogRecorder()
        let connection = try await connect(logger: recorder.logger())
        try await connection.execute(
            script: """
                DO $$ BEGIN
                    RAISE NOTICE 'a notice' USING HINT = 'a hint', DETAIL = 'a detail';
                    RAISE WARNING 'a warning';
                    RAISE INFO 'a word';
                END $$
                """)
        #expect(recorder.entries.map(\.level) == [.notice, .warning, .info])
        #expect(recorder.entries.map(\.message) == ["a notice", "a warning", "a word"])
        #expect(recorder.entries[0].metadata == ["sqlstate": "00000", "hint": "a hint", "detail": "a detail"])
    }

    @Test(
        "No line of the server's text begins at the left margin",
        arguments: ["\n", "\r\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"])
    func indentsServerText(lineEnd: String) async throws {
        let connection = try await connect()
        let error = try await postgresError {
            try await connection.execute("SELECT 1 / 0, \("first\(lineEnd)forged")::bigint")
        }
        #expect(error.description.contains("forged"))
        let lines = error.description.unicodeScalars.split { "\n\r\u{85}\u{2028}\u{2029}".unicodeScalars.contains($0) }
        #expect(!lines.contains { String($0).hasPrefix("forged") }, "\(error)")
    }
}
