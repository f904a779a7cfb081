import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("brocot.apply_pending", .database, .usualTimeLimit)
struct ApplyPendingTests {
    private let caller: SQLCaller
    private var connection: Connection { caller.connection }

    init() async throws { caller = try await SQLCaller() }

    @Test("apply_pending decides requests in a transaction that can be rolled back, so a test needs no daemon")
    func rolledBack() async throws {
        try await connection.execute("SELECT brocot.move_items('a', '{1,2,3}', last => true)")
        try await connection.execute(script: "BEGIN")
        let number = try await connection.query("SELECT brocot.move('a', '3', first => true)")[0].decode(
            0, as: Int64.self)
        #expect(try await caller.applyPending() == 2)
        #expect(try await caller.lists()["a"] == ["3", "1", "2"])
        let status = try await connection.query("SELECT status FROM brocot.request_status(\(number))").single()
        #expect(try status.decode(0, as: String.self) == "applied")
        try await connection.execute(script: "ROLLBACK")
        #expect(try await caller.lists()["a"] == nil)
        #expect(try await caller.pending() == 1)
    }

    @Test("apply_pending decides only the requests of the given table or list")
    func chosen() async throws {
        try await connection.execute(
            script: """
                SELECT brocot.move('a', '1', last => true), brocot.move('b', '2', last => true),
                    brocot.move('b', '3', last => true), brocot.move('c', '4', last => true, from_list => 'b')
                """)
        #expect(try await caller.applyPending("'items', 'a'") == 1)
        #expect(try await caller.applyPending("'public.other'") == 0)
        #expect(try await caller.pending() == 3)
        #expect(try await caller.applyPending("'items'") == 3)
    }

    @Test("apply_pending for a list leaves a change between one of its partners and a third list, which is not locked")
    func changeBetweenOthers() async throws {
        try await connection.execute(
            script: """
                SELECT brocot.move_now('a', '1', last => true), brocot.move_now('b', '2', last => true);
                SELECT brocot.move('b', '1', last => true, from_list => 'a'), brocot.move('c', '2', last => true, from_list => 'b');
                BEGIN
                """)
        #expect(try await caller.applyPending("'items', 'a'") == 1)
        #expect(try await caller.lockedLists(among: ["a", "b", "c"], of: "items") == ["a", "b"])
        #expect(try await caller.lists() == ["b": ["2", "1"]])
        try await connection.execute(script: "COMMIT")
        #expect(try await caller.applyPending("'items', 'b'") == 1)
        #expect(try await caller.lists() == ["b": ["1"], "c": ["2"]])
    }

    /// pg_stat_xact_user_tables counts what this transaction reads.
    @Test("apply_pending reads only the requests of the given list and of the lists with which it exchanges items")
    func readsOneList() async throws {
        try await connection.execute(
            script: """
                SELECT brocot.move('other ' || number % 100, number::text, last => true) FROM generate_series(1, 2000) AS number;
                SELECT brocot.move('a', '1', last => true), brocot.move('a', '1', last => true, from_list => 'b'),
                    brocot.move('b', '2', last => true);
                BEGIN
                """)
        #expect(try await caller.applyPending("'items', 'a'") == 3)
        let read = try await connection.query(
            """
            SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
            WHERE relid = 'brocot.move_requests'::regclass
            """
        ).single().decode(0, as: Int.self)
        #expect((3...50).contains(read), "\(read) rows were read")
        try await connection.execute(script: "COMMIT")
        #expect(try await caller.pending() == 2000)
    }

    @Test("apply_pending skips requests of a held list, and requests that wait behind them")
    func held() async throws {
        try await connection.execute(
            script: """
                SELECT brocot.move('a', '1', last => true), brocot.move('b', '1', last => true, from_list => 'a'),
                    brocot.move('b', '2', last => true), brocot.move('c', '3', last => true);
                INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at)
                VALUES ('items', 'a', 1, 'a person looks into it', now());
                """)
        #expect(try await caller.applyPending() == 1)
        #expect(try await caller.lists()["c"] == ["3"])
        #expect(try await caller.pending() == 3)
    }

    @Test("apply_pending logs the same outcomes as a daemon")
    func outcomes() async throws {
        try await connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no poison here'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON brocot.items FOR EACH ROW WHEN (NEW.item = 'poison') EXECUTE FUNCTION refuse();
                SELECT brocot.move_items('a', '{1,2}', last => true), brocot.move('a', 'x', after => 'y'),
                    brocot.move('b', '2', last => true, from_list => 'a'), brocot.move('a', 'poison', last => true),
                    brocot.move('a', '9', last => true, missing => 'reject'), brocot.remove('b', '7'),
                    brocot.move('z', 'z', last => true, ordered_table => 'public.nowhere'), brocot.move('a', '3', at => 0);
                """)
        #expect(try await caller.applyPending() == 8)
        let rows = try await connection.query(
            """
            SELECT concat_ws(' ', outcome, error_code, sqlstate) FROM brocot.move_log
            WHERE NOT direct AND xid IS NOT NULL AND applied_at >= requested_at ORDER BY id
            """)
        #expect(
            try rows.map { try $0.decode(0, as: String.self) } == [
                "applied", "rejected anchor_not_found", "applied", "rejected failed P0001", "rejected item_not_found",
                "applied", "rejected unknown_ordered_table", "applied",
            ])
        #expect(try await caller.lists()["a"] == ["3", "1"])
        #expect(try await caller.lists()["b"] == ["2"])
        #expect(try await caller.pending() == 0)
    }

    @Test("apply_pending decides a request whose id is already in the log") func loggedIdentifier() async throws {
        try await connection.execute(
            script: """
                SELECT brocot.move('a', '1', last => true); SELECT brocot.apply_pending();
                ALTER SEQUENCE brocot.move_requests_id_seq RESTART;
                SELECT brocot.move('a', '2', last => true); SELECT brocot.apply_pending();
                """)
        #expect(try await caller.lists()["a"] == ["1", "2"])
        let log = try await connection.query("SELECT items::text FROM brocot.move_log")
        #expect(try log.map { try $0.decode(0, as: String.self) } == ["{2}"])
    }

    @Test("apply_pending rejects requests with standard_conforming_strings off too") func oldStrings() async throws {
        try await connection.execute(
            script: """
                SET standard_conforming_strings = off;
                SELECT brocot.move('a', '1', before => 'nothing'), brocot.move('a', '2', last => true);
                SELECT brocot.apply_pending();
                """)
        #expect(try await caller.lists()["a"] == ["2"])
        #expect(try await caller.pending() == 0)
    }

    @Test("apply_pending places rows of a table that places no new rows, once each, if a request asks for that")
    func arrivals() async throws {
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id int PRIMARY KEY, rank numeric UNIQUE, rank_num bigint, rank_den bigint);
                INSERT INTO tasks VALUES (1), (2);
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows, arrive)
                VALUES ('public.tasks', 'public', 'tasks', '{}', 'id', false, 'none');
                INSERT INTO brocot.move_requests (ordered_table, items, placement)
                VALUES ('public.tasks', ARRAY['1', '2', '3', repeat('9', 1025), '1'], 'arrive'),
                    ('public.tasks', ARRAY[repeat('8', 1025), repeat('9', 1025)], 'arrive');
                SELECT brocot.apply_pending();
                """)
        let order = try await connection.query(
            "SELECT string_agg(id::text, ',' ORDER BY rank) FROM tasks WHERE rank IS NOT NULL")
        #expect(try order.single().decode(0, as: String?.self) == "2,1")
    }

    /// An ordered table, as `brocot attach` registers it, with rows 1 and 2 in one list.
    static func tasks(ownsRows: Bool) -> String {
        """
        \(RegisteredTable.script("public.tasks", columns: "id int PRIMARY KEY", list: nil, item: "id", ownsRows: ownsRows))
        INSERT INTO tasks VALUES (1), (2);
        INSERT INTO brocot.move_requests (ordered_table, items, placement) VALUES ('public.tasks', '{1,2}', 'arrive');
        """
    }

    @Test(
        "apply_pending decides the requests of other tables if one table is not as it was registered",
        arguments: ["ALTER TABLE tasks RENAME rank TO place", "ALTER TABLE tasks RENAME rank_den TO place"])
    func changedTable(change: String) async throws {
        try await connection.execute(
            script: "\(Self.tasks(ownsRows: false)); \(change); SELECT brocot.move('a', '1', last => true)")
        #expect(try await caller.applyPending() == 1)
        #expect(try await caller.lists()["a"] == ["1"])
        #expect(try await caller.pending() == 1)
    }

    @Test("apply_pending leaves lock_timeout as it was") func lockTimeout() async throws {
        try await connection.execute(
            script: "SELECT brocot.move('a', '1', last => true); BEGIN; SET LOCAL lock_timeout = '7s'")
        #expect(try await caller.applyPending() == 1)
        let timeout = try await connection.query("SHOW lock_timeout").single()
        #expect(try timeout.decode(0, as: String.self) == "7s")
        try await connection.execute(script: "COMMIT")
    }

    @Test("apply_pending decides the requests of 256 lists together")
    func mostLists() async throws {
        try await connection.execute(
            "SELECT brocot.move(number, 'x', last => true) FROM generate_series(1, 256) AS number")
        #expect(try await caller.applyPending() == 256)
    }

    @Test("apply_pending decides nothing if the requests are of more than 256 lists")
    func tooManyLists() async throws {
        try await connection.execute(
            "SELECT brocot.move(number, 'x', last => true) FROM generate_series(1, 257) AS number")
        let error = await #expect(throws: PostgresError.self) {
            try await caller.applyPending()
        }
        #expect(error?.sqlState?.rawValue == "54000")
        #expect(error?.hint?.contains("one list at a time") == true)
        #expect(try await caller.pending() == 257)
        #expect(try await caller.applyPending("'items', '7'") == 1)
    }

    @Test("A list that exchanges items with more than 255 others is left to a daemon, as the hint says")
    func tooManyExchanges() async throws {
        try await connection.execute(
            "SELECT brocot.move('many', 'x', last => true, from_list => 'other ' || number) FROM generate_series(1, 256) AS number"
        )
        let error = await #expect(throws: PostgresError.self) { try await caller.applyPending("'items', 'many'") }
        #expect(error?.sqlState?.rawValue == "54000")
        #expect(error?.hint?.contains("brocot daemon --drain") == true)
        #expect(try await caller.pending() == 256)
    }

    @Test("The documented job decides the requests of any number of lists, also beside many paused lists")
    func documentedJob() async throws {
        try await connection.execute(
            "SELECT brocot.move('list ' || number, 'x', last => true) FROM generate_series(1, 300) AS number")
        try await connection.execute(
            "SELECT brocot.pause('items', 'list ' || number) FROM generate_series(1, 210) AS number")
        let page = try Repository.text(of: "docs/sql.md")
        let section = try #require(page.split(separator: "\n### Pending requests without a daemon\n").last)
        let job = String(section.split(separator: "```sql\n")[1].split(separator: "```")[0])
        // Each call chooses its lists at random.
        for _ in 0..<60 where try await caller.pending() > 210 { try await connection.execute(script: job) }
        #expect(try await caller.pending() == 210)
        #expect(try await connection.query("SELECT FROM brocot.items").count == 90)
        // A list that exchanges items with too many others does not stop the rest.
        try await connection.execute(
            script: """
                SELECT brocot.resume();
                SELECT brocot.move('many', 'y', last => true, from_list => 'other ' || number) FROM generate_series(1, 257) AS number;
                """)
        for _ in 0..<60 where try await caller.pending() > 257 { try await connection.execute(script: job) }
        #expect(try await caller.pending() == 257)
    }

    @Test("apply_pending leaves the requests of a table that the caller may not write, and decides the others")
    func tableWithoutRights() async throws {
        try await connection.execute(
            script: "\(Self.tasks(ownsRows: false)); SELECT brocot.move('a', '1', last => true)")
        try await TestRole.with("without_tasks", owner: connection) { role in
            try await connection.execute(
                script: """
                    GRANT USAGE ON SCHEMA brocot TO \(role.name);
                    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA brocot TO \(role.name); SET ROLE \(role.name)
                    """)
            #expect(try await caller.applyPending() == 1)
            #expect(try await caller.lists()["a"] == ["1"])
            #expect(try await caller.pending() == 1)
            let refusal = await #expect(throws: PostgresError.self) { try await caller.applyPending() }
            #expect(refusal?.sqlState == .insufficientPrivilege)
        }
    }
}
