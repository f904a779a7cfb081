import Brocot
import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("A caller's own transaction", .database, .usualTimeLimit)
struct LibraryTransactionTests {
    private struct Abandoned: Error {}

    private let board = ListIdentifier("7", of: "public.cards")

    @Test("Statements and moves of a transaction are committed together")
    func commits() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.attachCards()
        let board = board
        let title: String? = try await fixture.client.transaction { transaction in
            let text = "it's; -- \"quoted\""
            try transaction.execute("INSERT INTO cards (id, board, title) VALUES (\(1), \(7), \(text))")
            try transaction.place(["1"], .last, in: board)
            return try transaction.query("SELECT title FROM cards WHERE id = \(1)").first?.decode("title")
        }
        #expect(title == "it's; -- \"quoted\"")
        #expect(try await fixture.client.page(of: board).items == ["1"])
    }

    @Test("A transaction is rolled back if its closure throws, and throws the same error")
    func rollsBack() async throws {
        let fixture = try await LibraryFixture()
        await #expect(throws: Abandoned.self) {
            try await fixture.client.transaction { transaction in
                try transaction.place(["a"], .last, in: "list")
                throw Abandoned()
            }
        }
        #expect(try await fixture.items(of: "list") == [])
    }

    @Test("Values of every kind are read as they were bound")
    func values() async throws {
        let client = try await LibraryFixture().client
        try await client.transaction { transaction in
            let (nothing, number): (String?, Int64) = (nil, -1 << 62)
            let rows = try transaction.query(
                """
                SELECT \(nothing)::text AS nothing, \(number) AS number, \(true) AS truth,
                    cardinality(\(["a", "b"])) AS texts, \([number])::bigint[] = ARRAY[\(number)] AS numbers,
                    \(SQLStatement("1 + \(2)")) AS fragment
                """)
            let row = try #require(rows.first)
            #expect(try row.decode("nothing", as: String?.self) == nil)
            #expect(try row.decode("number", as: Int64?.self) == number)
            #expect(try row.decode("truth", as: Bool.self))
            #expect(try row.decode("texts", as: Int.self) == 2)
            #expect(try row.decode("numbers", as: Bool.self))
            #expect(try row.decode("fragment", as: Int.self) == 3)
            #expect(throws: BrocotError.self) { try row.decode("nothing", as: String.self) }
            #expect(throws: BrocotError.self) { try row.decode("truth", as: String?.self) }
        }
    }

    @Test(
        """
        A statement that ends the transaction fails, further calls fail and do nothing, the transaction fails, and the connection stays usable
        """,
        arguments: ["COMMIT", "ROLLBACK", "END"])
    func ended(statement: String) async throws {
        let fixture = try await LibraryFixture(maximumConnections: 1)
        let code = await failureCode {
            try await fixture.client.transaction { transaction in
                try transaction.place(["before"], .last, in: "list")
                expectMisuse { try transaction.execute(SQLStatement(unsafeRaw: statement)) }
                expectMisuse {
                    try transaction.execute("INSERT INTO brocot.items VALUES ('list', 'executed', 7, 1, 7)")
                }
                expectMisuse { try transaction.place(["placed"], .last, in: "list") }
                expectMisuse { _ = try transaction.enqueuePlace(["requested"], .last, in: "list") }
            }
        }
        #expect(code == .misuse)
        #expect(try await fixture.items(of: "list") == (statement == "ROLLBACK" ? [] : ["before"]))
        #expect(try await fixture.connection.query("SELECT FROM brocot.move_requests").isEmpty)
        try await fixture.client.place(["after"], .last, in: "list")
    }

    private func expectMisuse(_ call: () throws -> some Any) {
        let error = #expect(throws: BrocotError.self) { _ = try call() }
        #expect(error?.code == .misuse)
    }

    @Test("Numbers and UUIDs are bound and read")
    func types() async throws {
        let fixture = try await LibraryFixture()
        let (id, half) = (UUID(), 0.5)
        try await fixture.client.transaction { transaction in
            let row = try #require(
                try transaction.query("SELECT \(id)::uuid AS id, \(half)::float8 AS half, \(Int32(7)) AS seven").first)
            #expect(try row.decode("id") == id)
            #expect(try row.decode("half") == half)
            #expect(try row.decode("seven") == Int32(7))
            #expect(throws: BrocotError.self) { try row.decode("half", as: UUID.self) }
        }
    }

    @Test(
        "Points in time are bound and read",
        arguments: [0, 1_770_000_000.123456, -62_000_000_000, -62_135_769_600, -100_000_000_000, 64_000_000_000])
    func dates(seconds: Double) async throws {
        let fixture = try await LibraryFixture()
        let date = Date(timeIntervalSince1970: seconds)
        try await fixture.client.transaction { transaction in
            let row = try #require(
                try transaction.query(
                    "SELECT \(date)::timestamptz AS date, to_timestamp(\(seconds)::float8) AS expected"
                ).first)
            let read: Date = try row.decode("date")
            #expect(abs(read.timeIntervalSince(date)) < 2e-6)
            let expected: Date = try row.decode("expected")
            #expect(abs(expected.timeIntervalSince(date)) < 2e-6)
        }
    }

    @Test("A point in time without a Date can't be read, and a Date without a point in time is refused")
    func unreadableDates() async throws {
        let client = try await LibraryFixture().client
        let read = await #expect(throws: BrocotError.self) {
            try await client.transaction { transaction in
                _ = try transaction.query("SELECT 'infinity'::timestamptz AS date")[0].decode("date", as: Date.self)
            }
        }
        #expect(read?.code == .unreadableValue)
        let bound = await #expect(throws: BrocotError.self) {
            try await client.transaction { transaction in
                _ = try transaction.query("SELECT \(Date(timeIntervalSince1970: .infinity))::timestamptz AS date")
            }
        }
        #expect(bound?.sqlState == "22007")
    }

    @Test("A call that gave up waiting for a lock can be repeated")
    func canBeRepeated() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.connection.execute(
            script: "BEGIN; SELECT brocot.lock_lists(ARRAY['list'])")
        let error = await #expect(throws: BrocotError.self) {
            try await fixture.client.transaction { transaction in
                try transaction.execute("SET LOCAL lock_timeout = '10ms'")
                try transaction.place(["a"], .last, in: "list")
            }
        }
        #expect(error?.sqlState == "55P03")
        #expect(error?.canBeRepeated == true)
        try await fixture.connection.execute(script: "ROLLBACK")
        try await fixture.client.place(["a"], .last, in: "list")
        #expect(try await fixture.items(of: "list") == ["a"])
    }

    @Test("A refused statement has its SQLSTATE and constraint")
    func refusedStatement() async throws {
        let fixture = try await LibraryFixture()
        let error = await #expect(throws: BrocotError.self) {
            try await fixture.client.transaction { transaction in
                for _ in 1...2 {
                    try transaction.execute("INSERT INTO brocot.items VALUES ('l', 'i', 1, 1, 1)")
                }
            }
        }
        #expect(error?.code == .refused)
        #expect(error?.sqlState == "23505")
        #expect(error?.constraint == "items_pkey")
        #expect(error?.canBeRepeated == false)
    }

    @Test(
        "A direct call is refused if the snapshot may be older than the list's lock",
        arguments: ["REPEATABLE READ", "SERIALIZABLE"])
    func snapshotIsolation(level: String) async throws {
        let fixture = try await LibraryFixture()
        try await fixture.client.place(["a", "b"], .last, in: "list")
        for takesSnapshotFirst in [true, false] {
            let error = await #expect(throws: BrocotError.self) {
                try await fixture.client.transaction { transaction in
                    try transaction.execute(SQLStatement(unsafeRaw: "SET TRANSACTION ISOLATION LEVEL \(level)"))
                    if takesSnapshotFirst { _ = try transaction.query("SELECT FROM brocot.items") }
                    try transaction.place(["b"], .first, in: "list")
                }
            }
            #expect(error?.code == .snapshotIsolation)
            #expect(error?.message.contains("at \(level), so its snapshot may be older than the list's lock") == true)
        }
        #expect(try await fixture.items(of: "list") == ["a", "b"])
    }

    @Test(
        "A transaction at a higher isolation level may enqueue requests and read pages",
        arguments: ["REPEATABLE READ", "SERIALIZABLE"])
    func snapshotIsolationEnqueues(level: String) async throws {
        let fixture = try await LibraryFixture()
        try await fixture.client.transaction { transaction in
            try transaction.execute(SQLStatement(unsafeRaw: "SET TRANSACTION ISOLATION LEVEL \(level)"))
            _ = try transaction.enqueuePlace(["a"], .last, in: "list")
            _ = try transaction.page(of: "list")
        }
        #expect(try await fixture.connection.query("SELECT FROM brocot.move_requests").count == 1)
    }

    @Test("A call on an unlocked list is refused if other lists are already locked, and changes nothing")
    func secondList() async throws {
        let fixture = try await LibraryFixture()
        let codes = try await fixture.client.transaction { transaction in
            var codes: [BrocotError.Code?] = []
            func note(_ body: () throws -> Void) {
                do {
                    try body()
                    codes.append(nil)
                } catch {
                    codes.append((error as? BrocotError)?.code)
                }
            }
            note { try transaction.place(["a"], .last, in: "one") }
            note { try transaction.place(["a"], .last, in: "two") }
            note { try transaction.place(["a"], .last, in: "two", from: "one") }
            note { try transaction.move(fromOffsets: [0], toOffset: 0, in: "two") }
            note { try transaction.lock(["one", "two"]) }
            note { try transaction.place(["b"], .last, in: "one") }
            return codes
        }
        #expect(codes == [nil, .listNotLocked, .listNotLocked, .listNotLocked, .listNotLocked, nil])
        #expect(try await fixture.items(of: "one") == ["a", "b"])
        #expect(try await fixture.items(of: "two") == [])
    }

    @Test("Lists that were locked in one call can be changed one after the other")
    func locked() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.client.transaction { transaction in
            try transaction.lock(["three", "one", "two"])
            try transaction.place(["a", "b"], .last, in: "one")
            try transaction.place(["a"], .last, in: "two", from: "one")
            try transaction.place(["a"], .last, in: "three", from: "two")
        }
        for (list, items) in [("one", ["b"]), ("two", []), ("three", ["a"])] {
            #expect(try await fixture.items(of: "\(list)") == items)
        }
    }

    @Test("Locks are taken in the order of their keys, and kept until the end of the transaction")
    func locks() async throws {
        let fixture = try await LibraryFixture()
        let connection = fixture.connection
        let lists = (0..<40).map { "list \($0)" }
        try await fixture.client.transaction { transaction in
            try transaction.lock(lists.map { ListIdentifier($0) })
            try transaction.place(["a"], .last, in: "list 1")
            let held = try transaction.query(
                "SELECT count(*) AS held FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
            #expect(try held[0].decode("held", as: Int.self) == lists.count)
        }
        #expect(try await fixture.advisoryLocks(granted: true) == 0)
        // Another session has the lock with the third lowest key. A caller that waits for this lock has taken the two
        // lower ones, and no others.
        let keys = try await connection.query(
            "SELECT brocot.list_lock_key('items', list) AS key FROM unnest(\(lists)) AS list ORDER BY key"
        ).map { try $0.decode(0, as: Int64.self) }
        try await connection.execute("SELECT pg_advisory_lock(\(keys[2]))")
        let waiting = Task { [client = fixture.client] in
            try await client.transaction { try $0.lock(lists.reversed().map { ListIdentifier($0) }) }
        }
        try await fixture.waitForWaiter()
        #expect(try await fixture.advisoryLocks(granted: true) == 2)
        try await connection.execute("SELECT pg_advisory_unlock_all()")
        try await waiting.value(until: "the transaction ended that waited for a list")
    }

    @Test("A rollback to a savepoint releases locks, and the next call takes them again")
    func savepoint() async throws {
        let fixture = try await LibraryFixture()
        let held = try await fixture.client.transaction { transaction in
            try transaction.execute("SAVEPOINT before")
            try transaction.lock(["one", "two"])
            try transaction.place(["a"], .last, in: "one")
            try transaction.execute("ROLLBACK TO SAVEPOINT before")
            try transaction.place(["b"], .last, in: "one")
            return try transaction.query(
                "SELECT count(*) AS held FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
            )[0].decode("held", as: Int.self)
        }
        #expect(held == 2)
        #expect(try await fixture.items(of: "one") == ["b"])
    }

    @Test("A move does not change the caller's settings")
    func settings() async throws {
        let fixture = try await LibraryFixture()
        let names = ["enable_seqscan", "enable_hashjoin", "enable_bitmapscan", "jit", "lock_timeout"]
        try await fixture.client.transaction { transaction in
            try transaction.execute("SET LOCAL enable_seqscan = off")
            let statement: SQLStatement = """
                SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) AS settings FROM pg_settings
                WHERE name = ANY (\(names))
                """
            let before: String = try transaction.query(statement)[0].decode("settings")
            try transaction.place(["a"], .last, in: "list")
            #expect(try transaction.query(statement)[0].decode("settings") == before)
        }
    }

    @Test("A call to lock no lists or more than 256 lists is refused", arguments: [0, 257])
    func numberOfLists(count: Int) async throws {
        let client = try await LibraryFixture().client
        let code = await failureCode {
            try await client.transaction { try $0.lock((0..<count).map { ListIdentifier("\($0)") }) }
        }
        #expect(code == .invalidArgument)
    }
}
