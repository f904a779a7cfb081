import LocalPostgres
import TestLimit
import TestPostgres
import Testing

@Suite("Database of a test", .usualTimeLimit)
struct TestDatabaseTests {
    @Test("A test's database has Brocot's schema", .database)
    func isMigrated() async throws {
        let url = TestDatabase.current.url
        #expect(try await query("SELECT to_regclass('brocot.items') IS NOT NULL", at: url) == "t")
    }

    @Test("A test's database is empty if the test asks for that", .database(migrated: false))
    func isEmpty() async throws {
        let url = TestDatabase.current.url
        #expect(try await query("SELECT count(*) FROM pg_namespace WHERE nspname = 'brocot'", at: url) == "0")
    }

    @Test("A test's database belongs to one case of one test", .database, arguments: 1...3)
    func isPrivate(number: Int) async throws {
        let url = TestDatabase.current.url
        #expect(try await query("CREATE TABLE mine AS SELECT \(number) AS n", at: url) != nil)
        #expect(try await query("SELECT n FROM mine", at: url) == "\(number)")
    }

    @Test("A test's database can have its own server", .database(on: .own(settings: ["wal_level": "logical"])))
    func ownServer() async throws {
        let database = TestDatabase.current
        #expect(try await query("SHOW wal_level", at: database.loopbackURL) == "logical")
        try await database.cluster.restart(.immediate)
        #expect(try await query("SELECT to_regclass('brocot.items') IS NOT NULL", at: database.url) == "t")
    }
}
