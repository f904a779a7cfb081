import Brocot
import LibPQ
import TestPostgres
import Testing

@Suite("The library under a hostile search_path", .database, .timeLimit(.minutes(30)))
struct LibraryHostileSearchPathTests {
    @Test("The library changes lists, enqueues and reads under a hostile search_path") func worksAllTheSame()
        async throws
    {
        try await HostileSchema.putFirst()
        let client = try await BrocotClient.connect(TestDatabase.current.url, logger: LibraryFixture.quiet)
        try await client.place(["a", "b", "c"], .last, in: "list")
        try await client.move(fromOffsets: [2], toOffset: 0, in: "list")
        try await client.remove(["a"], from: "list")
        #expect(try await client.page(of: "list").items == ["c", "b"])
        let first = try await client.page(of: "list", limit: 1)
        #expect(try await client.page(of: "list", after: first.next).items == ["b"])
        let request = try await client.enqueuePlace(["d"], .before("b"), in: "list")
        #expect(await failureCode { _ = try await client.outcome(of: request, within: .zero) } == .stillPending)
        await client.close()
    }

    @Test("A caller's statements keep their search_path until the first move of the transaction")
    func callersStatements() async throws {
        let database = TestDatabase.current
        let administrator = try await database.connect()
        try await administrator.execute(
            script: """
                CREATE SCHEMA own;
                CREATE FUNCTION own.now() RETURNS text LANGUAGE sql AS $$ SELECT 'their own' $$;
                CREATE TABLE own.notes (note text)
                """)
        try await administrator.execute("ALTER DATABASE \(identifier: database.name) SET search_path = own, pg_catalog")
        let client = try await BrocotClient.connect(database.url, logger: LibraryFixture.quiet)
        try await client.transaction { transaction in
            try transaction.execute("INSERT INTO notes SELECT now()")
            try transaction.place(["a"], .last, in: "list")
            try transaction.execute("INSERT INTO notes SELECT now()")
            #expect(try transaction.page(of: "list").items == ["a"])
        }
        let notes: [String] = try await administrator.query("SELECT note FROM own.notes").map { try $0.decode(0) }
        #expect(notes.count == 2)
        #expect(notes[0] == "their own")
        #expect(notes[1] != "their own")
        await client.close()
    }
}
