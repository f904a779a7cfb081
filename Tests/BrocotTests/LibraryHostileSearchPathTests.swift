import Brocot
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("The library under a hostile search_path", .database, .usualTimeLimit)
struct LibraryHostileSearchPathTests {
    @Test("The library changes lists, enqueues and reads under a hostile search_path", .databaseWithHostileSchema)
    func worksAllTheSame() async throws {
        try await HostileSchema.putFirst()
        let client = try await BrocotClient.connect(TestDatabase.current.url, logger: .silent)
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

    @Test("A caller's statements keep their search_path until the transaction reads a page")
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
        let client = try await BrocotClient.connect(database.url, logger: .silent)
        try await client.transaction { transaction in
            try transaction.execute("INSERT INTO notes SELECT now()")
            try transaction.place(["a"], .last, in: "list")
            try transaction.execute("INSERT INTO notes SELECT now()")
            #expect(try transaction.page(of: "list").items == ["a"])
            try transaction.execute("INSERT INTO notes SELECT now()")
        }
        let notes: [String] = try await administrator.query("SELECT note FROM own.notes").map { try $0.decode(0) }
        #expect(notes.count == 3)
        #expect(notes[0] == "their own" && notes[1] == "their own")
        #expect(notes[2] != "their own")
        await client.close()
    }
}

extension LibraryHostileSearchPathTests {
    @Test(
        "The library calls no operator or function with closer types from the search_path", .databaseWithOverloadTraps)
    func callsNoTraps() async throws {
        let administrator = try await TestDatabase.current.connect()
        try await administrator.execute(
            script: """
                CREATE TYPE state AS ENUM ('open', 'closed');
                CREATE TABLE cards (
                    id uuid PRIMARY KEY, board state NOT NULL, hidden state, rank_num bigint, rank_den bigint, rank numeric,
                    UNIQUE (board, rank) DEFERRABLE INITIALLY IMMEDIATE);
                INSERT INTO brocot.ordered_tables (
                    name, schema_name, table_name, list_columns, item_column, owns_rows, visible)
                VALUES ('public.cards', 'public', 'cards', '{board}', 'id', false, $$(hidden <> 'closed'::public.state)$$);
                INSERT INTO cards SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, 'open', 'open'
                FROM generate_series(1, 4) AS n;
                """)
        try await OverloadTraps.set()
        let client = try await BrocotClient.connect(TestDatabase.current.url, logger: .silent)
        try await client.place(["a", "b", "c"], .last, in: "list")
        try await client.move(fromOffsets: [2], toOffset: 0, in: "list")
        try await client.remove(["a"], from: "list")
        #expect(try await client.page(of: "list").items == ["c", "b"])
        let cards = ListIdentifier("open", of: "public.cards")
        let keys = (1...4).map { "00000000-0000-0000-0000-00000000000\($0)" }
        try await client.place(keys, .last, in: cards)
        try await client.place([keys[3]], .at(1), in: cards)
        try await client.move(fromOffsets: [0], toOffset: 2, in: cards)
        try await client.remove([keys[2]], from: cards)
        let pages = try await client.transaction { transaction in
            let page = try transaction.page(of: cards, limit: 1)
            let path = try transaction.query("SELECT pg_catalog.current_setting('search_path')")
            #expect(try path[0].decode("current_setting", as: String.self) == "\"$user\", public, traps")
            return [page.items, try transaction.page(of: cards, after: page.next).items]
        }
        #expect(pages == [[keys[3]], [keys[0], keys[1]]])
        let request = try await client.enqueuePlace([keys[2]], .first, in: cards)
        #expect(await failureCode { _ = try await client.outcome(of: request, within: .zero) } == .stillPending)
        #expect(try await !OverloadTraps.haveFired())
        await client.close()
    }
}
