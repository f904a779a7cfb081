import FaultHarness
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Transactions", .commonDatabase, .usualTimeLimit) struct TransactionTests {
    struct Interruption: Error {}

    /// Only a test with a database of its own may have a table that other sessions see.
    private func connectWithTable(seenByOthers: Bool = false) async throws -> Connection {
        let connection = try await connect()
        try await connection.execute(
            script: """
                CREATE \(seenByOthers ? "" : "TEMPORARY ")TABLE numbers (number bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)
                """)
        return connection
    }

    private func numbers(_ connection: Connection) async throws -> [Int64] {
        try await connection.query("SELECT number FROM numbers ORDER BY number").map { try $0.decode(0) }
    }

    @Test("A transaction commits the work of its body, and returns the body's value") func returnsValueOfBody()
        async throws
    {
        let connection = try await connectWithTable()
        let count = try await connection.run { connection in
            try connection.transaction { connection in
                #expect(connection.transactionStatus == .inTransaction)
                return try connection.execute("INSERT INTO numbers VALUES (1), (2)")
            }
        }
        #expect(count == 2)
        #expect(await connection.transactionStatus == .idle)
        #expect(try await numbers(connection) == [1, 2])
    }

    @Test("A transaction is rolled back if its body throws") func bodyThrows() async throws {
        let connection = try await connectWithTable()
        await #expect(throws: Interruption.self) {
            try await connection.run { connection in
                try connection.transaction { connection in
                    try connection.execute("INSERT INTO numbers VALUES (1)")
                    throw Interruption()
                }
            }
        }
        #expect(await connection.transactionStatus == .idle)
        #expect(try await numbers(connection) == [])
    }

    @Test("A transaction throws the typed error of its body") func typedError() async throws {
        let connection = try await connectWithTable()
        func insertTwice() async throws(PostgresError) {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction { connection throws(PostgresError) in
                    try connection.savepoint("twice") { connection throws(PostgresError) in
                        _ = try connection.execute("INSERT INTO missing VALUES (1)")
                    }
                }
            }
        }
        do {
            try await insertTwice()
            Issue.record("nothing was thrown")
        } catch {
            #expect(error.sqlState == .undefinedTable)
        }
    }

    @Test("A transaction sets its isolation level and access mode, regardless of the defaults") func levelAndMode()
        async throws
    {
        let connection = try await connect()
        try await connection.execute(
            script: """
                SET default_transaction_isolation = 'serializable';
                SET default_transaction_read_only = on
                """)
        let statement: SQL = """
            SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only')
            """
        let (first, second) = try await connection.run { connection in
            (
                try connection.transaction { try $0.query(statement)[0] },
                try connection.transaction(.repeatableReadOnly) { try $0.query(statement)[0] }
            )
        }
        #expect(try first.decode(0) == "read committed")
        #expect(try first.decode(1) == "off")
        #expect(try second.decode(0) == "repeatable read")
        #expect(try second.decode(1) == "on")
    }

    @Test(
        "pg_catalog is searched first, then the session's search path, and temporary objects last",
        arguments: [
            (#""$user", public"#, #""$user", public"#), ("", #""""#), ("evil, pg_catalog", #"evil,"""#),
            ("pg_catalog, evil", #""", evil"#), (#"a,PG_Catalog , "pg_catalog",b"#, #"a,"","",b"#),
            (#"pg_catalogue, my_pg_catalog, "x pg_catalog""#, #"pg_catalogue, my_pg_catalog, "x pg_catalog""#),
        ])
    func orderOfSchemas(
        path: String, expected: String
    ) async throws {
        let connection = try await connect()
        _ = try await connection.query("SELECT set_config('search_path', \(path), false)")
        let statement: SQL = """
            SELECT pg_catalog.current_setting('search_path'), (pg_catalog.current_schemas(true))[1]::pg_catalog.text
            """
        for (mode, expected) in [
            (TransactionMode.readCommitted, expected + ", pg_temp"),
            (.readCommittedInSystemCatalog, "pg_catalog, pg_temp"), (.repeatableReadOnly, "pg_catalog, pg_temp"),
        ] {
            let inside = try await connection.run { connection in
                try connection.transaction(mode) { connection in try connection.query(statement)[0] }
            }
            #expect(try inside.decode(0) == expected)
            #expect(try inside.decode(1) == "pg_catalog")
        }
        #expect(try await connection.query(statement)[0].decode(0) == path)
    }

    @Test("A part of a transaction searches only pg_catalog, and the rest what it searched before")
    func partSearchesOnlyCatalog() async throws {
        let connection = try await connect()
        let path: SQL = "SELECT pg_catalog.current_setting('search_path')"
        let paths: [String] = try await connection.run { connection in
            try connection.transaction { connection throws(PostgresError) in
                let before = try connection.query(path).single()
                let inside = try connection.inSystemCatalog(wrapping: { $0 }) { connection throws(PostgresError) in
                    try connection.query(path).single()
                }
                let after = try connection.query(path).single()
                _ = try? connection.inSystemCatalog(wrapping: { $0 }) { connection throws(PostgresError) in
                    try connection.query("SELECT \("not sent: \0")")
                }
                let last = try connection.query(path).single()
                return [try before.decode(0), try inside.decode(0), try after.decode(0), try last.decode(0)]
            }
        }
        let sessions = #""$user", public, pg_temp"#
        #expect(paths == [sessions, "pg_catalog, pg_temp", sessions, sessions])
    }

    @Test("Objects are created in the first schema of the session's search path", .database(migrated: false))
    func createsInFirstSchema()
        async throws
    {
        let connection = try await connect()
        try await connection.execute(script: "CREATE SCHEMA first; SET search_path = first, pg_catalog")
        try await connection.run { connection in
            try connection.transaction { connection in _ = try connection.execute("CREATE TABLE made ()") }
        }
        #expect(try await connection.query("SELECT FROM first.made").isEmpty)
    }

    @Test("A caller's transaction keeps the session's search path, and may choose its isolation level")
    func callersTransaction()
        async throws
    {
        let connection = try await connect()
        try await connection.execute(script: "SET search_path = public, pg_catalog")
        let inside = try await connection.run { connection in
            try connection.transaction(.callersReadCommitted) { connection in
                try connection.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
                return try connection.query("SELECT current_setting('search_path')")[0]
            }
        }
        #expect(try inside.decode(0) == "public, pg_catalog")
    }

    @Test("Settings of a transaction end with the transaction") func settingsEnd() async throws {
        let connection = try await connect()
        let settings = [("lock_timeout", "1234ms"), ("app.Quote", "a'\\b"), ("TimeZone", "UTC")]
        let inside = try await connection.run { connection in
            try connection.transaction(settings: settings) { connection in
                try connection.query("SELECT current_setting('lock_timeout'), current_setting('app.quote')")[0]
            }
        }
        #expect(try inside.decode(0) == "1234ms")
        #expect(try inside.decode(1) == "a'\\b")
        #expect(try await connection.query("SELECT current_setting('lock_timeout')")[0].decode(0) == "0")
    }

    @Test("A refused setting leaves no transaction open") func refusedSetting() async throws {
        let connection = try await connect()
        let error = try await postgresError {
            try await connection.run { connection in
                try connection.transaction(settings: [("lock_timeout", "soon")]) { _ in }
            }
        }
        #expect(error.message == "invalid value for parameter \"lock_timeout\": \"soon\"")
        #expect(await connection.transactionStatus == .idle)
    }

    @Test("Nested transactions are refused") func nested() async throws {
        let connection = try await connect()
        let error = try await postgresError {
            try await connection.run { connection in
                try connection.transaction { connection in try connection.transaction { _ in } }
            }
        }
        #expect(error.code == .protocolMisuse)
        #expect(await connection.transactionStatus == .idle)
    }

    @Test("A transaction fails if its body hides a failed statement") func hiddenFailure() async throws {
        let connection = try await connectWithTable()
        let error = try await postgresError {
            try await connection.run { connection in
                try connection.transaction { connection in
                    try connection.execute("INSERT INTO numbers VALUES (1)")
                    _ = try? connection.execute("SELECT 1/0")
                }
            }
        }
        #expect(error.code == .protocolMisuse)
        #expect(error.message.contains("rolled back"))
        #expect(try await numbers(connection) == [])
    }

    @Test("A transaction that COMMIT refuses has no effect") func refusedCommit() async throws {
        let connection = try await connectWithTable()
        let error = try await postgresError {
            try await connection.run { connection in
                try connection.transaction { connection in
                    _ = try connection.execute("INSERT INTO numbers VALUES (1), (1)")
                }
            }
        }
        #expect(error.sqlState == .uniqueViolation)
        #expect(error.code == .server)
        #expect(error.constraint == "numbers_number_key")
        #expect(await connection.transactionStatus == .idle)
        #expect(try await numbers(connection) == [])
    }

    @Test("A savepoint undoes only its own part") func savepointUndoesItsPart() async throws {
        let connection = try await connectWithTable()
        try await connection.run { connection in
            try connection.transaction { connection in
                try connection.execute("INSERT INTO numbers VALUES (1)")
                #expect(throws: PostgresError.self) {
                    try connection.savepoint("a \"b\"") { connection throws(PostgresError) in
                        try connection.execute("INSERT INTO numbers VALUES (2)")
                        try connection.execute("SELECT 1/0")
                    }
                }
                #expect(throws: Interruption.self) {
                    try connection.savepoint("a \"b\"", wrapping: { $0 }) { connection throws(any Error) in
                        try connection.execute("INSERT INTO numbers VALUES (3)")
                        throw Interruption()
                    }
                }
                let count = try connection.savepoint("c") { connection throws(PostgresError) in
                    try connection.execute("INSERT INTO numbers VALUES (4)")
                }
                #expect(count == 1)
            }
        }
        #expect(try await numbers(connection) == [1, 4])
    }

    @Test("A savepoint fails if its body hides a failed statement, and the transaction continues")
    func hiddenFailureInSavepoint() async throws {
        let connection = try await connectWithTable()
        try await connection.run { connection in
            try connection.transaction { connection in
                let error = try #require(throws: PostgresError.self) {
                    try connection.savepoint("s") { connection throws(PostgresError) in
                        try connection.execute("INSERT INTO numbers VALUES (2)")
                        _ = try? connection.execute("SELECT 1/0")
                    }
                }
                #expect(error.sqlState == .inFailedTransaction)
                try connection.execute("INSERT INTO numbers VALUES (3)")
            }
        }
        #expect(try await numbers(connection) == [3])
    }

    @Test("A COMMIT whose answer is lost is reported as unknown, and may have succeeded", .database(migrated: false))
    func lostAnswerToCommit() async throws {
        let observer = try await connectWithTable(seenByOthers: true)
        let (connection, proxy) = try await connectThroughProxy()
        defer { proxy.close() }
        let commit = proxy.nextStop(.beforeAnswer) { $0.text == "COMMIT" }
        async let error = insertOne(connection)
        try #require(await commit.reached(within: .seconds(60))).cut()
        #expect(try await error.code == .commitOutcomeUnknown)
        #expect(try await error.isConnectionLost)
        #expect(try await numbers(observer) == [1])
    }

    @Test(
        "A COMMIT during which the session ends is reported as unknown, and may have failed", .database(migrated: false)
    )
    func endedDuringCommit() async throws {
        let observer = try await connectWithTable(seenByOthers: true)
        try await observer.execute(
            script: """
                CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
                CREATE CONSTRAINT TRIGGER end_session AFTER INSERT ON numbers DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION end_session()
                """)
        let error = try await insertOne(try await connect())
        #expect(error.code == .commitOutcomeUnknown)
        #expect(error.sqlState == .adminShutdown)
        #expect(try await numbers(observer) == [])
    }

    private func insertOne(_ connection: Connection) async throws -> PostgresError {
        try await postgresError {
            try await connection.run { connection in
                try connection.transaction { connection in
                    _ = try connection.execute("INSERT INTO numbers VALUES (1)")
                }
            }
        }
    }

    @Test(
        "A transaction after users' triggers begins without the search_path and the advisory locks that one of them left"
    )
    func leftoversOfTriggers()
        async throws
    {
        let connection = try await connect()
        func leftovers(_ mode: TransactionMode) async throws -> String {
            try await connection.execute(script: "SET search_path = nowhere; SELECT pg_advisory_lock(1234567)")
            return try await connection.run { connection in
                try connection.transaction(mode) { connection in
                    try connection.query(
                        """
                        SELECT current_setting('search_path') || ', locks: ' || count(*) FROM pg_locks
                        WHERE locktype = 'advisory' AND pid = pg_backend_pid()
                        """
                    ).single().decode(0)
                }
            }
        }
        #expect(try await leftovers(.readCommitted) == "nowhere, pg_temp, locks: 1")
        #expect(try await leftovers(.readCommittedAfterTriggers) == "\"$user\", public, pg_temp, locks: 0")
    }
}
