import Brocot
import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Keys and calls that a user of the library stumbles over", .database, .usualTimeLimit)
struct LibraryKeyTests {
    @Test("A key may begin with a brace that carries an accent") func accentedBrace() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.client.place("{\u{301}a}", .last, in: "l")
        try await fixture.client.place("{a}", .last, in: "l")
        #expect(try await fixture.items(of: "l") == ["{\u{301}a}", "{a}"])
    }

    @Test("A list of several columns is named by their values, as brocot.list_key does") func severalColumns()
        async throws
    {
        let fixture = try await LibraryFixture()
        let id = UUID()
        for (columns, text) in [
            ([7, "to \"do\"\u{1}"] as [any ItemKey], "'7', E'to \"do\"\\x01'"),
            ([id, Int64(8)], "'\(id.uuidString.lowercased())', '8'"),
            (["one"], "'one'"), ([], "VARIADIC '{}'"),
        ] {
            let key: String = try await fixture.connection.query(SQL(unsafeRaw: "SELECT brocot.list_key(\(text))"))
                .single().decode(0)
            #expect(ListIdentifier(columns: columns, of: "public.cards").key == key)
        }
    }

    @Test("Items leave a list that is named by a number or a UUID") func sources() async throws {
        let fixture = try await LibraryFixture()
        let list = UUID()
        try await fixture.client.place("a", .last, in: ListIdentifier(list))
        try await fixture.client.place("a", .last, in: ListIdentifier(8), from: list)
        try await fixture.client.place(["a"], .last, in: "l", from: 8)
        #expect(try await fixture.items(of: "l") == ["a"])
        for source in [list.itemKey, "8"] { #expect(try await fixture.items(of: source) == []) }
    }

    @Test("A caller that deallocates all prepared statements does not make the next call fail") func deallocation()
        async throws
    {
        let fixture = try await LibraryFixture(maximumConnections: 1)
        try await fixture.client.place("a", .last, in: "l")
        try await fixture.client.transaction { transaction in try transaction.execute("DEALLOCATE ALL") }
        try await fixture.client.place("b", .last, in: "l")
        #expect(try await fixture.items(of: "l") == ["a", "b"])
    }

    @Test("A transaction that deallocates all prepared statements can move items afterwards")
    func deallocationInTransaction() async throws {
        let fixture = try await LibraryFixture(maximumConnections: 1)
        try await fixture.client.place("a", .last, in: "l")
        try await fixture.client.transaction { transaction in
            try transaction.execute("DEALLOCATE ALL")
            for item in ["b", "c"] { try transaction.place([item], .last, in: "l") }
        }
        #expect(try await fixture.items(of: "l") == ["a", "b", "c"])
    }

    @Test("A statement can have an array of Int as a parameter") func integers() async throws {
        let fixture = try await LibraryFixture()
        let numbers = [1, 2]
        let sum = try await fixture.client.transaction { transaction in
            try transaction.query("SELECT sum(n)::bigint FROM unnest(\(numbers)) AS n")[0].decode("sum", as: Int64.self)
        }
        #expect(sum == 3)
    }

    @Test("With an answer time-out, a call ends if the server answers nothing") func answerTimeout() async throws {
        let client = try await BrocotClient.connect(
            TestDatabase.current.url, maximumConnections: 1, answerTimeout: .seconds(1), logger: .silent)
        let error = await #expect(throws: BrocotError.self) {
            try await client.transaction { transaction in try transaction.execute("SELECT pg_sleep(600)") }
        }
        #expect(error?.code == .connectionLost)
        try await client.place("a", .last, in: "l")
    }
}
