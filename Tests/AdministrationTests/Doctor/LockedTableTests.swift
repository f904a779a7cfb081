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
                CREATE TABLE cards (id bigint PRIMARY KEY, board char(3), rank_num bigint, rank_den bigint, rank numeric);
                INSERT INTO cards VALUES (1, 'a', 1, 2, 3);
                INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{board}', 'id', false);
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
