import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Prepared statements that the server lost", .database(migrated: false), .usualTimeLimit)
struct StalePreparationTests {
    @Test("A single statement is sent again if its prepared statement was deallocated or its table was changed")
    func sentAgain()
        async throws
    {
        let (connection, observer) = (try await connect(), try await connect())
        try await observer.execute("CREATE TABLE numbers (number bigint)")
        let insert: SQL = "INSERT INTO numbers VALUES (1) RETURNING *"
        func run() async throws {
            _ = try await connection.run { connection in try connection.transaction(of: insert) }
        }
        try await run()
        try await observer.execute("ALTER TABLE numbers ADD COLUMN other text")
        try await run()
        try await connection.execute(script: "DEALLOCATE ALL")
        try await run()
        #expect(try await observer.query("SELECT FROM numbers").count == 3)
        #expect(await connection.transactionStatus == .idle)
    }

    @Test("A statement that a trigger refuses as not supported is sent once, and stays prepared")
    func refusedByTrigger() async throws {
        let connection = try await connect()
        try await connection.execute(
            script: """
                CREATE SEQUENCE attempts; CREATE TABLE refused (number bigint);
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    PERFORM nextval('attempts'); RAISE feature_not_supported;
                END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON refused FOR EACH ROW EXECUTE FUNCTION refuse();
                """)
        for _ in 1...3 {
            let error = try await postgresError {
                try await connection.run { _ = try $0.transaction(of: "INSERT INTO refused VALUES (1)") }
            }
            #expect(error.sqlState == .featureNotSupported)
        }
        #expect(try await connection.query("SELECT last_value FROM attempts").single().decode(0, as: Int64.self) == 3)
        let prepared = try await connection.query("SELECT FROM pg_prepared_statements WHERE statement LIKE '%refused%'")
        #expect(prepared.count == 1)
    }
}
