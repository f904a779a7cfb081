import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("brocot.pause, brocot.resume and brocot.release", .database, .usualTimeLimit) struct PauseTests {
    private let connection: Connection

    init() async throws {
        connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                \(RegisteredTable.cards)
                SELECT brocot.move('a', '1', last => true), brocot.move('b', '1', last => true),
                    brocot.move('b', '2', last => true), brocot.move('a', '2', last => true);
                """)
    }

    private func number(_ query: SQL) async throws -> Int {
        try await connection.query("SELECT (\(query))::bigint").single().decode(0)
    }

    private func apply() async throws -> Int { try await number("brocot.apply_pending()") }

    /// Holds a list, as if the database had refused its first request.
    private func hold(_ table: String, _ list: String) async throws {
        try await connection.execute(
            """
            INSERT INTO brocot.held_lists (ordered_table, list, request_id, sqlstate, error, held_at)
            VALUES (\(table), \(list), 1, 'P0001', 'refused', now())
            """)
    }

    @Test("Pausing a list stops only this list, and returns the number of changes")
    func list() async throws {
        #expect(try await number("brocot.pause('items', 'a')") == 1)
        #expect(try await number("brocot.pause('items', 'a')") == 0)
        #expect(try await apply() == 2)
        #expect(try await number("brocot.resume('items', 'a')") == 1)
        #expect(try await number("brocot.resume('items', 'a')") == 0)
        #expect(try await apply() == 2)
        #expect(try await number("SELECT count(*) FROM brocot.held_lists") == 0)
    }

    @Test("Resuming a list leaves the other lists of its table paused")
    func oneOfSeveral() async throws {
        try await connection.execute("SELECT brocot.pause('items', 'a'), brocot.pause('items', 'b')")
        #expect(try await number("brocot.resume('items', 'a')") == 1)
        #expect(try await number("SELECT count(*) FROM brocot.held_lists WHERE list = 'b'") == 1)
        #expect(try await apply() == 2)
    }

    @Test("Resuming a list leaves its table and a list of the same name in another table paused")
    func onlyThisList() async throws {
        #expect(try await number("brocot.pause('items', 'a')") == 1)
        #expect(try await number("brocot.pause('public.cards', 'a')") == 1)
        #expect(try await number("brocot.pause('items')") == 1)
        #expect(try await number("brocot.resume('items', 'a')") == 1)
        #expect(try await number("SELECT paused_tables FROM brocot.queue_status") == 1)
        #expect(try await number("SELECT count(*) FROM brocot.held_lists WHERE ordered_table = 'public.cards'") == 1)
    }

    @Test("Resuming a table leaves the paused lists of other tables paused") func listsOfOtherTables() async throws {
        #expect(try await number("brocot.pause('public.cards', 'a')") == 1)
        #expect(try await number("brocot.pause('items', 'a')") == 1)
        #expect(try await number("brocot.resume('items')") == 1)
        #expect(try await number("SELECT count(*) FROM brocot.held_lists WHERE ordered_table = 'public.cards'") == 1)
    }

    @Test("Pausing a table stops all its lists, and no list of another table")
    func table() async throws {
        #expect(try await number("brocot.pause('public.cards')") == 1)
        #expect(try await number("brocot.pause('items', 'a')") == 1)
        #expect(try await number("brocot.pause('items')") == 1)
        #expect(try await apply() == 0)
        #expect(try await number("brocot.resume('items')") == 2)
        #expect(try await apply() == 4)
        #expect(try await number("SELECT paused_tables FROM brocot.queue_status") == 1)
    }

    @Test("Pausing a paused table again counts no change, and keeps the time of its pause")
    func again() async throws {
        #expect(try await number("brocot.pause('items')") == 1)
        let pausedAt: SQL = "SELECT paused_at::text FROM brocot.ordered_tables WHERE name = 'items'"
        let before: String = try await connection.query(pausedAt).single().decode(0)
        #expect(try await number("brocot.pause('items')") == 0)
        #expect(try await number("brocot.pause()") == 1, "public.cards")
        #expect(try await connection.query(pausedAt).single().decode(0, as: String.self) == before)
    }

    @Test("pause and resume without arguments concern all tables")
    func everything() async throws {
        #expect(try await number("brocot.pause()") == 2)
        #expect(try await apply() == 0)
        #expect(try await number("brocot.resume()") == 2)
        #expect(try await apply() == 4)
    }

    @Test("Resuming a list keeps it held if its request was refused, and releasing a list keeps it paused")
    func alsoHeld() async throws {
        try await hold("items", "a")
        #expect(try await number("brocot.pause('items', 'a')") == 1)
        #expect(try await number("brocot.resume()") == 1)
        #expect(try await number("SELECT held_lists FROM brocot.queue_status") == 1)
        #expect(try await number("brocot.pause('items', 'a')") == 1)
        #expect(try await number("brocot.release('a')::integer") == 1)
        #expect(try await number("brocot.release('a')::integer") == 0)
        #expect(try await number("SELECT held_lists FROM brocot.queue_status") == 0)
        #expect(try await number("SELECT paused_lists FROM brocot.queue_status") == 1)
        #expect(
            try await number("SELECT num_nonnulls(request_id, sqlstate, error, held_at) FROM brocot.held_lists") == 0)
        #expect(try await apply() == 2)
    }

    @Test("Resuming neither changes nor counts lists that are held and not paused") func heldOnly() async throws {
        try await hold("items", "a")
        #expect(try await number("brocot.resume()") == 0)
        #expect(try await number("brocot.resume('items', 'a')") == 0)
        #expect(try await number("SELECT held_lists FROM brocot.queue_status") == 1)
    }

    @Test("Releasing a list leaves a held list of the same name in another table held") func sameName() async throws {
        try await hold("items", "a")
        #expect(try await number("brocot.release('a', 'public.cards')::integer") == 0)
        try await hold("public.cards", "a")
        #expect(try await number("brocot.release('a')::integer") == 1)
        let held = try await connection.query(
            "SELECT ordered_table FROM brocot.held_lists WHERE request_id IS NOT NULL")
        #expect(try held.map { try $0.decode(0, as: String.self) } == ["public.cards"])
    }

    @Test("If two sessions resume a list at once, the second one waits, and finds that the list is not paused any more")
    func resumedAtOnce() async throws {
        try await connection.execute("SELECT brocot.pause('items', 'a')")
        let first = try await TestDatabase.current.connect()
        try await first.execute(script: "BEGIN; SELECT brocot.resume('items', 'a')")
        async let second = number("brocot.resume('items', 'a')")
        try await TestDatabase.current.waitUntilBlocked(connection, by: first)
        try await first.execute(script: "COMMIT")
        #expect(try await second == 0)
    }

    @Test("If two sessions release a list at once, the second one waits, and finds that the list is not held any more")
    func releasedAtOnce() async throws {
        try await hold("items", "a")
        let first = try await TestDatabase.current.connect()
        try await first.execute(script: "BEGIN; SELECT brocot.release('a', reject => true)")
        async let second = number("brocot.release('a', reject => true)::integer")
        try await TestDatabase.current.waitUntilBlocked(connection, by: first)
        try await first.execute(script: "COMMIT")
        #expect(try await second == 0)
        let logged = try await connection.query(
            "SELECT concat_ws(' ', error_code, sqlstate, error) FROM brocot.move_log")
        #expect(try logged.map { try $0.decode(0, as: String.self) } == ["failed P0001 refused"])
    }

    @Test("A pause does not stop moves at once")
    func moveNow() async throws {
        try await connection.execute("SELECT brocot.pause()")
        try await connection.execute("SELECT brocot.move_now('a', '7', last => true)")
        #expect(try await number("SELECT count(*) FROM brocot.items") == 1)
    }

    /// A call, and the SQLSTATE of its refusal.
    private static let calls: [(String, String?)] = [
        ("brocot.pause('public.nothing')", "42704"), ("brocot.pause(list => 'a')", "22023"),
        ("brocot.pause('public.cards', 'ok')", nil), ("brocot.pause('public.numbered', '01')", "RK002"),
        ("brocot.pause('items', repeat('x', 1024))", nil), ("brocot.pause('items', repeat('x', 1025))", "22023"),
    ]

    @Test("pause refuses an unknown table, a list without its table, and an invalid or too long list")
    func refusals() async throws {
        try await connection.execute(
            script: RegisteredTable.script(
                "public.numbered", columns: "id bigint PRIMARY KEY, board bigint", item: "id"))
        for (call, state) in Self.calls {
            let refusal = await connection.refusal(of: "SELECT \(unsafeRaw: call)")
            #expect(refusal?.sqlState?.rawValue == state, "\(call)")
        }
    }

    @Test("Functions that name an ordered table refuse an unknown one") func unknownTable() async throws {
        for call in ["resume('nope')", "resume('nope', 'a')", "release('a', 'nope')", "lock_lists('{a}', 'nope')"] {
            let error = await connection.refusal(ofScript: "SELECT brocot.\(call)")
            #expect(error?.message == "there is no ordered table 'nope'", "\(call)")
        }
    }
}
