import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Tables that another session has locked", .databaseWithAttachedTasks, .usualTimeLimit)
struct LockedTableTests {
    @Test("brocot doctor names a locked table, and finds the faults of the other tables")
    func otherTables() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                \(RegisteredTable.script(columns: "id bigint PRIMARY KEY, board char(3)", item: "id"))
                INSERT INTO cards VALUES (1, 'a', 1, 2, 3)
                """)
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; LOCK TABLE tasks")
        let results = try await examination()
        for check in ["orders", "keys", "ranks"] {
            let result = try #require(results.first { $0.check == check })
            #expect(result.level == .fail && result.message.contains("public.cards"), "\(check): \(result.message)")
        }
        for check in ["orders", "ranks"] {
            let message = try #require(results.first { $0.check == check }?.message)
            #expect(message.contains("public.tasks could not be checked: canceling statement due to lock timeout"))
        }
    }
}
