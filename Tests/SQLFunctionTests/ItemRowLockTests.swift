import LibPQ
import TestLimit
import TestPostgres
import Testing

/// As for rows of other tables: see ``RowWaitTests``.
@Suite("Rows of brocot.items that an application has locked", .database, .usualTimeLimit)
struct ItemRowLockTests {
    private let caller: SQLCaller
    private let application: Connection

    init() async throws {
        caller = try await SQLCaller()
        application = try await TestDatabase.current.connect()
        try await caller.connection.execute(
            script: "SELECT brocot.move_items_now('l', '{c,b,a}', last => true); SET statement_timeout = '60s'")
    }

    @Test(
        "A call for several items ends with 55P03, and the application with the opposite order of locks goes on",
        arguments: ["move_items_now('l', '{a,b}', last => true)", "remove_items_now('l', '{a,b}')"])
    func severalItems(call: String) async throws {
        try await application.execute(
            script: "BEGIN; SELECT FROM brocot.items WHERE list = 'l' AND item = 'b' FOR UPDATE")
        let hasEnded = Flag()
        let refused = Task { [caller] in
            defer { hasEnded.set() }
            return await #expect(throws: PostgresError.self) {
                try await caller.connection.execute("SELECT brocot.\(unsafeRaw: call)")
            }
        }
        try await caller.waitUntilLocked("items_now", or: hasEnded)
        try await application.execute(
            script: "SELECT FROM brocot.items WHERE list = 'l' AND item = 'a' FOR UPDATE; COMMIT")
        #expect(await refused.value?.sqlState == .lockNotAvailable)
        #expect(try await caller.lists() == ["l": ["c", "b", "a"]])
    }

    @Test("A change of list that makes room for the item ends with 55P03 if the neighbour's row is locked")
    func changeOfListIntoFullGap() async throws {
        try await caller.connection.execute(
            script: """
                INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
                SELECT 'm', item, num, den, brocot.rank_of(num, den)
                FROM (VALUES ('w', -1, 1), ('x', 0, 1), ('y', 1, 4611686018427387903), ('z', 2, 1)) AS row (item, num, den)
                """)
        try await application.execute(
            script: "BEGIN; SELECT FROM brocot.items WHERE list = 'm' AND item = 'y' FOR UPDATE")
        let move: SQL = "SELECT brocot.move_now('m', 'a', after => 'x', from_list => 'l')"
        let error = await caller.connection.refusal(of: move)
        #expect(error?.sqlState == .lockNotAvailable)
        try await application.execute(script: "COMMIT")
        try await caller.connection.execute(move)
        #expect(try await caller.lists() == ["l": ["c", "b"], "m": ["w", "x", "a", "y", "z"]])
    }

    @Test(
        "A call waits for one row, also if the row is changed or deleted meanwhile",
        arguments: ["UPDATE brocot.items SET item = item", "DELETE FROM brocot.items"],
        ["remove_now('l', 'a')", "move_now('l', 'a', at => 0)", "move_now('m', 'a', last => true, from_list => 'l')"])
    func changedMeanwhile(change: String, call: String) async throws {
        try await application.execute(script: "BEGIN; \(change) WHERE list = 'l' AND item = 'a'")
        async let answer = caller.connection.execute("SELECT brocot.\(unsafeRaw: call)")
        try await TestDatabase.current.waitUntilBlocked(caller.connection, by: application)
        try await application.execute(script: "COMMIT")
        let isGone = change.hasPrefix("DELETE") && call.contains("from_list")
        do {
            _ = try await answer
            #expect(!isGone)
        } catch {
            let refusal = try #require(error as? PostgresError)
            #expect(isGone && SQLCaller.code(of: refusal) == .itemNotFound, "\(refusal)")
        }
        let rest = try await caller.lists()["l"]
        #expect(rest == (call.contains("at => 0") ? ["a", "c", "b"] : ["c", "b"]))
    }
}
