import LibPQ
import Ordering
import TestPostgres
import Testing

@Suite("Import into a list", .database, .timeLimit(.minutes(30)))
struct ListImportTests {
    private struct NoInput: Error {}

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
