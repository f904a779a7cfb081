import LibPQ
import TestLimit
import TestPostgres
import Testing

/// Applications lock rows in any order. A call of Brocot that waits for several rows gives up before the server looks for a deadlock.
@Suite("Calls that wait for rows that an application has locked", .database, .usualTimeLimit)
struct RowWaitTests {
    private let caller: SQLCaller
    private let application: Connection

    init() async throws {
        caller = try await SQLCaller()
        application = try await TestDatabase.current.connect()
    }

    /// Calls a function with the application's transaction open, and does `body` once the call waits for a lock. Returns the call's error.
    private func refusal(
        of function: String, _ arguments: String, whileItWaits body: () async throws -> Void
    ) async throws -> PostgresError? {
        let hasEnded = Flag()
        let call = Task { [caller] in
            defer { hasEnded.set() }
            return await caller.connection.refusal(of: "SELECT brocot.\(unsafeRaw: function + arguments)")
        }
        try await caller.waitUntilLocked("brocot.\(function)", or: hasEnded)
        try await body()
        return try await call.value(until: "the call ended")
    }

    // MARK: Rows of a user's table

    /// Makes a list of two tasks, 5 and 10.
    private func createTasks() async throws { try await caller.createTasks(lists: ["1"], items: ["5", "10"]) }

    /// The application begins a transaction, and locks the row of a task.
    private func lockTask(_ task: Int) async throws {
        try await application.execute(script: "BEGIN; UPDATE tasks SET board = board WHERE id = \(task)")
    }

    @Test("move_items_now ends with 55P03, and the application with the opposite order of locks goes on")
    func severalItems() async throws {
        try await createTasks()
        try await lockTask(10)
        let error = try await refusal(
            of: "move_items_now", "(1, ARRAY[10, 5], last => true, ordered_table => 'public.tasks')"
        ) {
            try await application.execute(script: "UPDATE tasks SET board = board WHERE id = 5; COMMIT")
        }
        #expect(error?.sqlState == .lockNotAvailable)
    }

    @Test("apply_pending leaves a request pending whose row is locked, and decides the others")
    func pendingRequests() async throws {
        try await createTasks()
        try await lockTask(5)
        for item in [10, 5] {
            try await caller.connection.execute(
                "SELECT brocot.move(1, \(item)::bigint, first => true, ordered_table => 'public.tasks')")
        }
        let hasEnded = Flag()
        let call = Task { [caller] in
            defer { hasEnded.set() }
            return try await caller.applyPending()
        }
        try await caller.waitUntilLocked("brocot.apply_pending", or: hasEnded)
        try await application.execute(script: "UPDATE tasks SET board = board WHERE id = 10; COMMIT")
        #expect(try await call.value(until: "the call ended") == 1)
        let pending = try await caller.connection.query("SELECT items[1] FROM brocot.move_requests").single()
        #expect(try pending.decode(0, as: String.self) == "5")
        #expect(try await caller.applyPending() == 1)
    }

    @Test("A move of one item waits as long as an UPDATE would", arguments: ["first => true", "at => 0"])
    func oneItem(placement: String) async throws {
        try await createTasks()
        try await lockTask(5)
        let call = Task { [caller] in
            try await caller.connection.execute(
                script: "SELECT brocot.move_now(1, 5, \(placement), ordered_table => 'public.tasks')")
        }
        let observer = try await TestDatabase.current.observer
        let process = caller.connection.backendProcessIdentifier
        try await eventually("the call has waited for twice as long as a call for several items may") {
            try await observer.query(
                "SELECT (clock_timestamp() - waitstart)::text FROM pg_locks WHERE pid = \(process) AND NOT granted"
            ).map { try $0.decode(0, as: String?.self) }
        } until: {
            ($0.first ?? nil).map { $0 > "00:00:00.5" } ?? false
        }
        try await application.execute(script: "COMMIT")
        try await call.value(until: "the call ended")
        let first = try await caller.connection.query("SELECT id::text FROM tasks ORDER BY rank LIMIT 1").single()
        #expect(try first.decode(0, as: String.self) == "5")
    }

    @Test("A change of list that makes room for the item ends with 55P03 if the neighbour's row is locked")
    func changeOfListIntoFullGap() async throws {
        try await createTasks()
        try await caller.connection.execute(
            script: """
                SET session_replication_role = replica;
                INSERT INTO tasks (id, board, rank_num, rank_den, rank)
                SELECT id, 2, num, den, brocot.rank_of(num, den)
                FROM (VALUES (20, -1, 1), (21, 0, 1), (22, 1, 4611686018427387903), (23, 2, 1)) AS row (id, num, den);
                RESET session_replication_role; SET statement_timeout = '20s'
                """)
        try await lockTask(22)
        let move: SQL = "SELECT brocot.move_now(2, 10, after => 21, from_list => 1, ordered_table => 'public.tasks')"
        let error = await caller.connection.refusal(of: move)
        #expect(error?.sqlState == .lockNotAvailable)
        try await application.execute(script: "COMMIT")
        try await caller.connection.execute(script: "BEGIN; SET LOCAL lock_timeout = '7s'")
        try await caller.connection.execute(move)
        let setting = try await caller.connection.query("SELECT current_setting('lock_timeout')").single()
        #expect(try setting.decode(0, as: String.self) == "7s")
        try await caller.connection.execute("COMMIT")
        let order = try await caller.connection.query(
            "SELECT string_agg(id::text, ' ' ORDER BY rank) FROM tasks WHERE board = 2")
        #expect(try order[0].decode(0, as: String.self) == "20 21 10 22 23")
    }

    @Test("The transaction has its own lock_timeout again after a call", arguments: ["0", "90ms", "7s"])
    func settings(limit: String) async throws {
        try await createTasks()
        try await caller.connection.execute(
            script: """
                BEGIN; SET LOCAL lock_timeout = '\(limit)';
                SELECT brocot.move_items_now(1, ARRAY[10, 5], last => true, ordered_table => 'public.tasks');
                SELECT brocot.apply_pending()
                """)
        let setting = try await caller.connection.query("SELECT current_setting('lock_timeout')").single()
        #expect(try setting.decode(0, as: String.self) == limit)
    }

    // MARK: Rows of brocot.items

    private func placeItems() async throws {
        try await caller.connection.execute(
            script: "SELECT brocot.move_items_now('l', '{c,b,a}', last => true); SET statement_timeout = '60s'")
    }

    @Test(
        "A call for several items of brocot.items ends with 55P03, and the application with the opposite order of locks goes on",
        arguments: [("move_items_now", "('l', '{a,b}', last => true)"), ("remove_items_now", "('l', '{a,b}')")])
    func severalItemsOfBuiltInTable(function: String, arguments: String) async throws {
        try await placeItems()
        try await application.execute(
            script: "BEGIN; SELECT FROM brocot.items WHERE list = 'l' AND item = 'b' FOR UPDATE")
        let error = try await refusal(of: function, arguments) {
            try await application.execute(
                script: "SELECT FROM brocot.items WHERE list = 'l' AND item = 'a' FOR UPDATE; COMMIT")
        }
        #expect(error?.sqlState == .lockNotAvailable)
        #expect(try await caller.lists() == ["l": ["c", "b", "a"]])
    }

    @Test(
        "A change of list in brocot.items that makes room ends with 55P03 if the row of a neighbour or of the item is locked",
        arguments: [("m", "y"), ("l", "a")])
    func changeOfListIntoFullGapOfBuiltInTable(list: String, item: String) async throws {
        try await placeItems()
        try await caller.connection.execute(
            script: """
                INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
                SELECT 'm', item, num, den, brocot.rank_of(num, den)
                FROM (VALUES ('w', -1, 1), ('x', 0, 1), ('y', 1, 4611686018427387903), ('z', 2, 1)) AS row (item, num, den)
                """)
        try await application.execute(
            script: "BEGIN; SELECT FROM brocot.items WHERE list = '\(list)' AND item = '\(item)' FOR UPDATE")
        let move: SQL = "SELECT brocot.move_now('m', 'a', after => 'x', from_list => 'l')"
        let error = await caller.connection.refusal(of: move)
        #expect(error?.sqlState == .lockNotAvailable)
        try await application.execute(script: "COMMIT")
        try await caller.connection.execute(move)
        #expect(try await caller.lists() == ["l": ["c", "b"], "m": ["w", "x", "a", "y", "z"]])
    }

    @Test(
        "A call waits for one row of brocot.items, also if the row is changed or deleted meanwhile",
        arguments: ["UPDATE brocot.items SET item = item", "DELETE FROM brocot.items"],
        ["remove_now('l', 'a')", "move_now('l', 'a', at => 0)", "move_now('m', 'a', last => true, from_list => 'l')"])
    func changedMeanwhile(change: String, call: String) async throws {
        try await placeItems()
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

    @Test("An item that is deleted while a call waits for its row is inserted again, beside the items that are new")
    func deletedBesideNew() async throws {
        try await placeItems()
        try await application.execute(script: "BEGIN; DELETE FROM brocot.items WHERE list = 'l' AND item = 'a'")
        async let answer = caller.connection.execute("SELECT brocot.move_items_now('l', '{a,n}', first => true)")
        try await TestDatabase.current.commit(application, onceItBlocks: caller.connection)
        _ = try await answer
        #expect(try await caller.lists() == ["l": ["a", "n", "c", "b"]])
    }
}
