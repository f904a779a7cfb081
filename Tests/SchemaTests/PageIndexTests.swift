import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Migrations

@Suite(
    "Migration that adds the item to the index of list and rank", .database(migrated: false), .usualTimeLimit)
struct PageIndexTests {
    /// Two items, in the schema before this migration.
    private func prepare(_ connection: Connection) async throws {
        let files = EmbeddedMigrations.files.sorted { $0.name < $1.name }
        let end = try #require(files.firstIndex { $0.name.hasSuffix("index_that_covers_pages.sql") })
        let before = try MigrationSet(files: files.prefix(end).map { $0 }, directory: "migrations")
        _ = try await Migrator(connection: connection, set: before).up()
        try await connection.execute("INSERT INTO brocot.items VALUES ('l', 'a', 1, 1, 1), ('l', 'b', 2, 1, 2)")
    }

    private let swap: SQL = "UPDATE brocot.items SET rank_num = 3 - rank_num, rank = 3 - rank WHERE list = 'l'"

    @Test("The migrated index of list and rank is still a deferrable constraint of the same name") func deferrable()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await prepare(connection)
        _ = try await Migrator(connection: connection).up()
        try await connection.execute(swap)
        let definition = try await connection.query(
            """
            SELECT pg_get_constraintdef(oid), condeferred FROM pg_constraint
            WHERE conrelid = 'brocot.items'::regclass AND contype = 'u' AND conname = 'items_list_rank_key'
            """
        ).single()
        #expect(try definition.decode(0, as: String.self) == "UNIQUE (list, rank) INCLUDE (item) DEFERRABLE")
        #expect(try !definition.decode(1, as: Bool.self))
        #expect(
            try await connection.query(
                "SELECT count(*) FROM pg_index WHERE indrelid = 'brocot.items'::regclass"
            ).single().decode(0, as: Int.self) == 2)
    }

    @Test("The migration of the index runs while others read, and causes no deadlock with a reader that writes later")
    func whileOthersRead() async throws {
        let (connection, reader) = try await (TestDatabase.current.connect(), TestDatabase.current.connect())
        try await prepare(connection)
        try await reader.execute(script: "BEGIN; TABLE brocot.items")
        let migrated = Task { try await Migrator(connection: connection).up() }
        let observer = try await TestDatabase.current.observer
        // The new index exists, and the constraint that uses it waits for the reader.
        try await TestDatabase.current.waitUntilBlocked(connection, by: reader)
        let made = try await observer.query("SELECT to_regclass('brocot.items_list_rank_item') IS NOT NULL").single()
        #expect(try made.decode(0, as: Bool.self))
        try await reader.execute("INSERT INTO brocot.items VALUES ('l', 'c', 3, 1, 3)")
        try await reader.execute(script: "COMMIT")
        let applied = try await migrated.value(until: "the migration ended")
        #expect(applied.last?.version == MigrationSet.embedded.latestVersion)
        #expect(try await observer.query("SELECT FROM brocot.items").count == 3)
    }
}
