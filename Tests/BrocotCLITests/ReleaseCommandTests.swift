import Administration
import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import BrocotCLI

@Suite("brocot release", .database, .usualTimeLimit) struct ReleaseCommandTests {
    /// Three lists, each of which is held for an item of this name; something else waits behind it.
    private func hold(_ item: String = "poison") async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                ALTER TABLE brocot.items ADD CONSTRAINT no_poison CHECK (item <> 'poison');
                SELECT brocot.move('list ' || n, 'poison', last => true), brocot.move('list ' || n, 'b', last => true)
                FROM generate_series(1, 3) AS n;
                """)
        try await drain(expecting: 7)
        #expect(try await held(connection) == ["list 1", "list 2", "list 3"])
        return connection
    }

    private func drain(expecting exitCode: Int32) async throws {
        #expect(
            try await BrocotProcess.run("daemon", "--drain", "--workers", "1", "--on-poison", "hold").exitCode
                == exitCode)
    }

    private func held(_ connection: Connection) async throws -> [String] {
        try await connection.query("SELECT list FROM brocot.held_lists ORDER BY list").map { try $0.decode(0) }
    }

    private func items(_ connection: Connection) async throws -> [String] {
        try await connection.query("SELECT list || ': ' || item FROM brocot.items ORDER BY list, rank")
            .map { try $0.decode(0) }
    }

    @Test("brocot release tries the request again, and the list is held again if the request is refused again")
    func triesAgain() async throws {
        let connection = try await hold()
        let result = try await BrocotProcess.run("release", "list 1", "list 3")
        #expect(result.exitCode == 0 && result.errors.contains("Released 2 lists."))
        #expect(try await held(connection) == ["list 2"])
        try await drain(expecting: 7)
        #expect(try await held(connection) == ["list 1", "list 2", "list 3"])
        try await connection.execute("ALTER TABLE brocot.items DROP CONSTRAINT no_poison")
        #expect(try await BrocotProcess.run("release", "--all").exitCode == 0)
        try await drain(expecting: 0)
        #expect(try await items(connection).prefix(2) == ["list 1: poison", "list 1: b"])
    }

    @Test("brocot release --reject rejects the request, and the list's next request is applied") func reject()
        async throws
    {
        let connection = try await hold()
        let result = try await BrocotProcess.run("release", "list 2", "--reject")
        #expect(result.exitCode == 0 && result.errors.contains("Released 1 list, and rejected what held it."))
        try await drain(expecting: 7)
        #expect(try await items(connection) == ["list 2: b"])
        let rejected = try await connection.query(
            "SELECT list, sqlstate FROM brocot.move_log WHERE outcome = 'rejected'")
        #expect(try rejected.single().decode(0, as: String.self) == "list 2")
        #expect(try rejected.single().decode(1, as: String.self) == "23514")
    }

    @Test("brocot release --all releases the lists of every table or of one; an unknown table exits with 2") func all()
        async throws
    {
        let connection = try await hold()
        let other = try await BrocotProcess.run("release", "--all", "--table", "public.cards")
        #expect(other.exitCode == 2 && other.errors.contains("public.cards is not an ordered table"))
        #expect(try await held(connection).count == 3)
        #expect(try await BrocotProcess.run("release", "--all", "--reject", "--table", "items").exitCode == 0)
        let none = try await BrocotProcess.run("release", "--all", "--reject")
        #expect(none.exitCode == 0 && none.errors.contains("Released 0 lists."))
        #expect(try await held(connection) == [])
        try await drain(expecting: 0)
    }

    @Test("brocot release names a list that is not held, exits with 1, and releases the other lists") func notHeld()
        async throws
    {
        let connection = try await hold()
        let result = try await BrocotProcess.run("release", "list 1", "list 4")
        #expect(result.exitCode == 1 && result.errors.contains("Not held in items: list 4."))
        #expect(try await held(connection) == ["list 2", "list 3"])
    }

    @Test("brocot release that loses its connection names the lists that it has released")
    func lostConnection() async throws {
        let connection = try await hold()
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; SELECT pg_advisory_xact_lock(brocot.list_lock_key('items', 'list 2'))")
        async let ended = BrocotProcess.run("release", "list 1", "list 2", "list 3")
        let waiting = try await TestDatabase.current.waitUntilSomeSession(waitsFor: holder)
        try await connection.execute("SELECT pg_terminate_backend(\(waiting[0]))")
        let result = try await ended
        #expect(result.exitCode == 1)
        #expect(
            result.errors.contains("Don't name these lists again, because they were released before: list 1 of items."),
            "\(result.errors)")
        #expect(try await held(connection) == ["list 2", "list 3"])
    }

    @Test("brocot release names the lists that another session keeps locked, with the status for locks")
    func message() {
        var result = ReleasedLists()
        result.released = ["a"]
        result.locked = [ListIdentifier("7", of: "public.cards"), "b"]
        let failure = ReleaseCommand.failure(result, of: ["a", "b"], in: "items")
        #expect(failure?.status == .lockTimeout)
        #expect(
            failure?.description
                == "Not released, because another session kept the list locked for 60 s: 7 of public.cards, b of items."
        )
    }
}
