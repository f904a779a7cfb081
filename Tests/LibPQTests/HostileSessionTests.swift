import LibPQ
import TestLimit
import TestPostgres
import Testing

/// A function of a user's may change the session that calls it.
@Suite("Sessions that other code has changed", .commonDatabase, .usualTimeLimit) struct HostileSessionTests {
    @Test("A transaction fails if client_encoding changes in it, and the next transaction works")
    func encodingInTransaction() async throws {
        let connection = try await connect()
        try await connection.execute(script: "CREATE TEMPORARY TABLE names (name text)")
        let error = try await postgresError {
            try await connection.run { connection in
                try connection.transaction { connection in
                    try connection.execute("SELECT set_config('client_encoding', 'LATIN1', false)")
                    _ = try connection.execute("INSERT INTO names VALUES (\("ä"))")
                }
            }
        }
        #expect(error.code == .server && error.sqlState == .triggeredActionException && !error.isConnectionLost)
        let text = try await connection.query("SELECT 'ä', current_setting('client_encoding')").single()
        #expect(try text.decode(0, as: String.self) == "ä")
        #expect(try text.decode(1, as: String.self) == "UTF8")
        #expect(try await connection.query("SELECT FROM names").isEmpty)
    }

    @Test("A transaction is not committed if its last statement changes client_encoding") func encodingInLastStatement()
        async throws
    {
        let connection = try await connect()
        try await connection.execute(script: "CREATE TEMPORARY TABLE names (name text)")
        _ = try await postgresError {
            try await connection.run { connection in
                try connection.transaction { connection in
                    _ = try connection.execute(
                        "INSERT INTO names SELECT set_config('client_encoding', 'LATIN1', false)")
                }
            }
        }
        #expect(try await connection.query("SELECT FROM names").isEmpty)
    }

    @Test("A connection is closed if client_encoding changes outside of a transaction")
    func encodingOutsideOfTransaction() async throws {
        let connection = try await connect()
        try await connection.execute("SELECT set_config('client_encoding', 'LATIN1', false)")
        let error = try await postgresError { _ = try await connection.query("SELECT 'ä'") }
        #expect(error.isConnectionLost)
        #expect(await connection.isLost)
    }

    @Test("A session continues without prepared statements after they were deallocated") func deallocatedStatements()
        async throws
    {
        let connection = try await connect()
        for _ in 1...2 { _ = try await connection.query("SELECT 1", prepared: true) }
        _ = try await connection.query("SELECT 2", prepared: true)
        try await connection.execute(script: "DEALLOCATE ALL")
        let error = try await postgresError { _ = try await connection.query("SELECT 1", prepared: true) }
        #expect(error.sqlState == .invalidStatementName)
        for number in 1...3 {
            try await connection.execute(script: "DEALLOCATE ALL")
            let row = try await connection.query("SELECT \(number)", prepared: true).single()
            #expect(try row.decode(0, as: Int.self) == number)
            #expect(try await connection.query("SELECT 2", prepared: true).count == 1)
        }
        #expect(try await connection.query("SELECT FROM pg_prepared_statements").isEmpty)
    }

    @Test("A session continues without prepared statements if their names are taken") func takenNames() async throws {
        let connection = try await connect()
        try await connection.execute(script: "PREPARE libpq_statement_1 AS SELECT 'foreign'")
        let error = try await postgresError { _ = try await connection.query("SELECT 1", prepared: true) }
        #expect(error.sqlState == .duplicatePreparedStatement)
        for _ in 1...3 {
            #expect(try await connection.query("SELECT 1", prepared: true).single().decode(0, as: Int.self) == 1)
        }
    }

    @Test(
        "A temporary table with the name of a type does not replace the type in later transactions",
        .database(migrated: false))
    func tableNamedLikeType()
        async throws
    {
        let connection = try await connect()
        try await connection.execute(script: "CREATE SCHEMA app; SET search_path = app, public")
        let transactions = [
            "CREATE TEMPORARY TABLE text (a integer)", "SET search_path = pg_temp, public", "SET search_path = ''",
            "SET search_path = \"pg_temp\", app",
        ]
        for transaction in transactions {
            try await connection.execute(script: transaction)
            let name: String = try await connection.run { connection in
                try connection.transaction { connection in
                    try connection.query("SELECT pg_typeof('x'::text)::regtype::text || cardinality('{b}'::text[])")
                        .single().decode(0)
                }
            }
            #expect(name == "text1", "\(transaction)")
        }
    }

    @Test("Very long error messages and warnings are cut off") func longMessages() async throws {
        let recorder = LogRecorder()
        let connection = try await connect(logger: recorder.logger())
        let error = try await postgresError {
            try await connection.execute(
                script: """
                    DO $$ BEGIN
                        RAISE WARNING '%', repeat('ä', 1000000);
                        RAISE EXCEPTION '%', repeat('ä', 1000000) USING DETAIL = repeat('d', 100000);
                    END $$
                    """)
        }
        #expect(error.message.hasSuffix("ä… (cut off)") && error.message.utf8.count < 10_050)
        #expect(try #require(error.detail).utf8.count < 10_050)
        #expect(recorder.entries.map(\.level) == [.warning])
        #expect(recorder.entries[0].message.utf8.count < 10_050)
    }

    @Test("A flood of warnings is logged only in part") func floodOfWarnings() async throws {
        let recorder = LogRecorder()
        let connection = try await connect(logger: recorder.logger())
        try await connection.execute(
            script: "DO $$ BEGIN FOR n IN 1 .. 10000 LOOP RAISE WARNING 'no %', n; END LOOP; END $$")
        #expect(recorder.entries.count == 50)
    }
}
