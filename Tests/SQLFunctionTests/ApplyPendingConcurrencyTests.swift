import Administration
import LibPQ
import Ordering
import OrderingModel
import TestLimit
import TestPostgres
import Testing

@Suite("Other sessions, and triggers, beside brocot.apply_pending", .database, .usualTimeLimit)
struct ApplyPendingConcurrencyTests {
    private let caller: SQLCaller
    private var connection: Connection { caller.connection }

    init() async throws { caller = try await SQLCaller() }

    @Test(
        "A row that is deleted while apply_pending places it stays deleted, and the other rows are placed",
        arguments: [false, true])
    func deletedMeanwhile(ownsRows: Bool) async throws {
        let other = try await TestDatabase.current.connect()
        try await connection.execute(script: ApplyPendingTests.tasks(ownsRows: ownsRows))
        try await other.execute(script: "BEGIN; DELETE FROM tasks WHERE id = 1")
        async let decided = caller.applyPending()
        try await TestDatabase.current.commit(other, onceItBlocks: connection)
        #expect(try await decided == 1)
        let rows = try await connection.query("SELECT string_agg(id || ' ' || rank, ',') FROM tasks")
        #expect(try rows[0].decode(0, as: String.self) == "2 0")
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome = 'applied'").count == 1)
    }

    @Test(
        "apply_pending leaves a request pending whose row moves to another partition meanwhile, and decides the others")
    func movedPartition() async throws {
        let other = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id bigint, board int, PRIMARY KEY (board, id)) PARTITION BY LIST (board);
                CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1); CREATE TABLE tasks_2 PARTITION OF tasks DEFAULT
                """)
        let names = OrderNames(schema: "public", table: "tasks")
        try await attach(OrderDefinition(names: names, listColumns: ["board"], itemColumn: "id"), on: connection)
        try await connection.execute(
            script: """
                INSERT INTO tasks VALUES (1, 1), (2, 1), (3, 3), (4, 3); SELECT brocot.apply_pending();
                SELECT brocot.move(1, 1, last => true, ordered_table => 'public.tasks'), brocot.move(3, 3, last => true, ordered_table => 'public.tasks')
                """)
        try await other.execute(script: "BEGIN; UPDATE tasks SET board = 2 WHERE id = 1")
        async let decided = caller.applyPending()
        try await TestDatabase.current.commit(other, onceItBlocks: connection)
        #expect(try await decided == 1)
        let left = try await connection.query("SELECT list FROM brocot.move_requests WHERE placement <> 'arrive'")
            .single()
        #expect(try left.decode(0, as: String.self) == "1")
    }

    @Test("apply_pending waits for locked lists, and decides each request once")
    func concurrently() async throws {
        try await connection.execute(
            "SELECT brocot.move((number % 3)::text, number::text, last => true) FROM generate_series(1, 60) AS number")
        // The least key is the first one that each caller waits for.
        let holder = try await TestDatabase.current.connect()
        let key: Int64 = try await holder.query(
            "SELECT min(brocot.list_lock_key('items', list)) FROM brocot.move_requests"
        ).single().decode(0)
        try await holder.execute("SELECT pg_advisory_lock(\(key))")
        let decided = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask { try await SQLCaller().applyPending() }
            }
            try await TestDatabase.current.waitUntilSomeSession(waitsFor: holder, count: 4)
            try await holder.execute("SELECT pg_advisory_unlock(\(key))")
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(decided.sorted() == [0, 0, 0, 60])
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome = 'applied'").count == 60)
    }

    @Test(
        "A request that a trigger decides while apply_pending works is decided once, and its outcome stays",
        arguments: [
            ("PERFORM brocot.apply_pending()", "1 applied,2 applied,3 applied", ["a": ["n"], "b": ["x", "y"]]),
            ("PERFORM brocot.cancel(2)", "1 applied,2 rejected,3 applied", ["a": ["x", "n"], "b": ["y"]]),
            ("DELETE FROM brocot.move_requests WHERE id = 2", "1 applied,3 applied", ["a": ["x", "n"], "b": ["y"]]),
        ])
    func decidedByTrigger(action: String, outcomes: String, order: [String: [String]]) async throws {
        try await connection.execute(
            script: """
                INSERT INTO brocot.items (list, item, rank_num, rank_den, rank) VALUES ('a', 'x', 0, 1, 0);
                CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN IF NEW.item = 'n' THEN \(action); END IF; RETURN NULL; END $$;
                CREATE TRIGGER act AFTER INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION act();
                SELECT brocot.move('a', 'n', last => true), brocot.move('b', 'x', last => true, from_list => 'a'),
                    brocot.move('b', 'y', last => true);
                SELECT brocot.apply_pending();
                """)
        let logged = try await connection.query(
            "SELECT string_agg(concat_ws(' ', id, outcome), ',' ORDER BY id) FROM brocot.move_log")
        #expect(try logged[0].decode(0, as: String.self) == outcomes)
        #expect(try await caller.lists() == order)
        #expect(try await caller.pending() == 0)
    }
}
