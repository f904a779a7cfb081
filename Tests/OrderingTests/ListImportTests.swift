import Foundation
import LibPQ
import Ordering
import TestPostgres
import Testing

@Suite("Import into a list", .database, .timeLimit(.minutes(30)))
struct ListImportTests {
    private struct NoInput: Error {}

    @Test("An import into a table whose rows are still being placed is refused") func beingFilled() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("UPDATE brocot.ordered_tables SET being_filled = true")
        let isRead = Flag()
        let result = try await connection.run { connection in
            try ListImport.run(
                into: ListIdentifier("l"),
                reading: {
                    defer { isRead.set() }
                    return isRead.isSet ? [] : Array("a\n".utf8)
                }, on: connection)
        }
        guard case .failure(.refused(let rejection)) = result else {
            Issue.record("it was not refused: \(result)")
            return
        }
        #expect(rejection.message == "brocot attach is still placing the rows of items")
        #expect(try await connection.query("SELECT FROM brocot.items").isEmpty)
    }

    @Test("An import waits for its input longer than the role's idle_session_timeout") func slowInput() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "SET idle_session_timeout = '100ms'")
        let isRead = Flag()
        let result = try await connection.run { connection in
            try ListImport.run(
                into: ListIdentifier("l"),
                reading: {
                    defer { isRead.set() }
                    // Longer than the server's limit.
                    Thread.sleep(forTimeInterval: 0.5)
                    return isRead.isSet ? [] : Array("a\n".utf8)
                }, on: connection)
        }
        #expect(try result.get() == 1)
    }

    @Test("An import locks the list only after the first piece of its input") func waitsForInput() async throws {
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; SELECT pg_advisory_xact_lock(brocot.list_lock_key('items', 'l'))")
        let connection = try await TestDatabase.current.connect()
        // With the lock first, the import would end with a lock time-out.
        await #expect(throws: NoInput.self) {
            try await connection.run { connection in
                try ListImport.run(into: ListIdentifier("l"), reading: { throw NoInput() }, on: connection)
            }
        }
    }
}
