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

    @Test("A session that ends during its single statement has changed nothing, also after a DEALLOCATE")
    func endedAfterDeallocate()
        async throws
    {
        let connection = try await connect()
        let sleep: SQL = "SELECT pg_sleep(0)"
        _ = try await connection.run { connection in try connection.transaction(of: sleep) }
        try await connection.execute(script: "DEALLOCATE ALL")
        _ = try await connection.run { connection in try connection.transaction(of: sleep) }
        let error = try await postgresError {
            try await connection.run { connection in
                _ = try connection.transaction(of: "SELECT pg_terminate_backend(pg_backend_pid(), 0), pg_sleep(60)")
            }
        }
        #expect(error.code == .connectionLost && error.sqlState == .adminShutdown)
    }

    @Test("A COMMIT that was never sent is no unknown outcome") func commitNeverSent() async throws {
        let (connection, observer) = (try await connect(), try await connect())
        let error = try await postgresError {
            try await connection.run { connection in
                try connection.transaction { connection in
                    _ = try? connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                }
            }
        }
        #expect(error.code == .connectionLost)
        #expect(try await observer.query("SELECT 1").count == 1)
    }

    @Test(
        "No line of the server's text begins at the left margin", .commonDatabase,
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
