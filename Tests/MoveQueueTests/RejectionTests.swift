import MoveQueue
import Ordering
import OrderingModel
import QueueHarness
import TestLimit
import TestPostgres
import Testing

@Suite("Rejections", .database, .usualTimeLimit)
struct RejectionTests {
    private func place(
        _ items: [String], _ placement: Placement, in list: String = "a", from source: String? = nil,
        table: String = "items", missing: MissingItems = .insert
    ) -> Move {
        Move(
            list: ListIdentifier(orderedTable: table, key: list), items: items,
            action: .place(placement, from: source), missing: missing)
    }

    /// The codes of moves that are applied to list a of 1, 2, 3 and list b of 4.
    private func codes(_ moves: [Move]) async throws -> [String?] {
        let fixture = try await QueueFixture()
        try await fixture.enqueue([place(["1", "2", "3"], .last), place(["4"], .last, in: "b")])
        try await fixture.drain()
        let ids = try await fixture.enqueue(moves)
        try await fixture.drain()
        #expect(try await fixture.lists() == ["a": ["1", "2", "3"], "b": ["4"]])
        let outcomes = try await fixture.outcomes()
        return ids.map { outcomes[$0] ?? "no outcome" }
    }

    @Test("A missing item is rejected with item_not_found if missing items must not be inserted") func missingItem()
        async throws
    {
        let moves = [
            place(["9"], .first, missing: .reject), place(["1", "9"], .last, missing: .reject),
            place(["1", "2", "3"], .last, missing: .reject),
        ]
        #expect(try await codes(moves) == ["item_not_found", "item_not_found", nil])
    }

    @Test("A request for an unknown table is rejected with unknown_ordered_table") func unknownOrderedTable()
        async throws
    {
        #expect(try await codes([place(["1"], .first, table: "public.nowhere")]) == ["unknown_ordered_table"])
    }

    @Test(
        "Requests wait if their registered table or one of its columns was dropped or renamed, or if a view has its name",
        arguments: [
            "DROP TABLE tasks", "ALTER TABLE tasks RENAME TO todos", "ALTER TABLE tasks RENAME board TO list",
            "ALTER TABLE tasks RENAME id TO task", "ALTER TABLE tasks RENAME rank TO place",
            "ALTER TABLE tasks RENAME rank_den TO denominator",
            "ALTER TABLE tasks RENAME TO todos; CREATE VIEW tasks AS SELECT id / 0 AS id, board, rank, rank_num, rank_den FROM todos",
        ])
    func missingColumns(change: String) async throws {
        let fixture = try await QueueFixture()
        var model = ListModel(ownsRows: false)
        try await ModelTable.deferrable.create(lists: ["1"], items: ["1"], in: &model, fixture.connection)
        try await fixture.connection.execute(script: change)
        try await expectWaiting(fixture, error: "public.tasks is registered, but")
    }

    @Test("Requests wait if their table has the triggers of another order, because it took the name of another table")
    func triggersOfOtherOrder() async throws {
        let fixture = try await QueueFixture()
        var model = ListModel(ownsRows: false)
        try await ModelTable.deferrable.create(lists: ["1"], items: ["1"], in: &model, fixture.connection)
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION brocot."keep_public.staging"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    NEW.rank := OLD.rank; NEW.rank_num := OLD.rank_num; NEW.rank_den := OLD.rank_den; RETURN NEW;
                END $$;
                CREATE TRIGGER zzz_brocot_rank_keep BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION brocot."keep_public.staging"();
                """)
        try await expectWaiting(
            fixture, error: "public.tasks has the triggers of another order: one calls brocot.\"keep_public.staging\"")
    }

    /// Requests of a table wait because of one error, and those of another table are decided.
    private func expectWaiting(_ fixture: QueueFixture, error: String) async throws {
        let ids = try await fixture.enqueue([
            place(["1"], .first, in: "1", table: "public.tasks"), place(["1"], .first),
        ])
        var worker = QueueWorker()
        var errors: Set<String> = []
        for _ in 1...6 {
            let result = try await worker.runTurnDespiteTimeout(on: fixture.connection)
            errors.formUnion(result.failures.map { "\($0.error)" })
        }
        #expect(try await fixture.outcomes() == [ids[1]: nil])
        #expect(errors.count == 1 && errors.first?.contains(error) == true, "\(errors)")
    }

    @Test("A superuser that does not trust the owner of a table lets the table's requests wait") func untrustedOwner()
        async throws
    {
        let fixture = try await QueueFixture()
        var model = ListModel(ownsRows: false)
        try await ModelTable.deferrable.create(lists: ["1"], items: ["1"], in: &model, fixture.connection)
        try await TestRole.with("owner", owner: fixture.connection) { role in
            try await fixture.connection.execute(script: "ALTER TABLE tasks OWNER TO \(role.name)")
            try await expectWaiting(fixture, error: "public.tasks belongs to role \(role.name)")
            try await fixture.connection.execute(script: "ALTER TABLE tasks OWNER TO CURRENT_USER")
        }
    }

    @Test("A key that can't be cast, or has another spelling, is rejected with invalid_key") func invalidKey()
        async throws
    {
        let fixture = try await QueueFixture()
        var model = ListModel(ownsRows: false)
        try await ModelTable.deferrable.create(lists: ["1"], items: ["1"], in: &model, fixture.connection)
        var moves: [Move] = []
        for key in ["x", "01", " 1", "+1", "1.0", "99999999999999999999", ""] {
            moves += [
                place(["1"], .last, in: key, table: "public.tasks"),
                place(["1"], .after(key.isEmpty ? "y" : key), in: "1", table: "public.tasks"),
                place(["1"], .last, in: "1", from: key, table: "public.tasks"),
            ]
        }
        for (move, code) in zip(moves, try await codes(moves)) { #expect(code == "invalid_key", "\(move)") }
    }

    @Test("A request to place rows leaves out keys that are too long for other requests") func longKeyOfArrival()
        async throws
    {
        let fixture = try await QueueFixture()
        var model = ListModel(ownsRows: false)
        try await ModelTable.deferrable.create(lists: ["1"], items: ["1", "2"], in: &model, fixture.connection)
        let moves = [["1", String(repeating: "9", count: Move.longestKey + 1)], ["1", "02"]].map {
            Move(list: ListIdentifier(orderedTable: "public.tasks", key: "1"), items: $0, action: .arrive)
        }
        #expect(try await codes(moves) == [nil, "invalid_key"])
    }

    @Test("Requests to place rows of which no key is left do nothing, however many of one list there are")
    func noKeyOfArrival()
        async throws
    {
        let fixture = try await QueueFixture()
        var model = ListModel(ownsRows: false)
        try await ModelTable.deferrable.create(lists: ["1"], items: ["1"], in: &model, fixture.connection)
        let keys = ["8", "9"].map { String(repeating: $0, count: Move.longestKey + 1) }
        let move = Move(list: ListIdentifier(orderedTable: "public.tasks", key: "1"), items: keys, action: .arrive)
        let moves = Array(repeating: move, count: 20)
        #expect(try await codes(moves) == moves.map { _ in nil })
    }

    @Test("A request that moves its own anchor is rejected with anchor_is_moved, before any other code")
    func anchorIsMoved() async throws {
        #expect(
            try await codes([place(["9", "2"], .after("2")), place(["9"], .before("9"))]) == [
                "anchor_is_moved", "anchor_is_moved",
            ])
    }

    @Test("anchor_not_found has priority over item_not_found") func anchorNotFound() async throws {
        #expect(
            try await codes([place(["1"], .after("4")), place(["9"], .before("8"), in: "a", from: "b")])
                == ["anchor_not_found", "anchor_not_found"])
    }

    @Test("item_not_found has priority over item_exists") func itemNotFound() async throws {
        #expect(
            try await codes([place(["1"], .last, in: "b", from: "nowhere"), place(["4", "2", "9"], .last, from: "b")])
                == ["item_not_found", "item_not_found"])
    }

    @Test("A missing row of a user's table is rejected with item_not_found, and never inserted") func missingRow()
        async throws
    {
        let fixture = try await QueueFixture()
        var model = ListModel(ownsRows: false)
        try await ModelTable.deferrable.create(lists: ["1"], items: ["1"], in: &model, fixture.connection)
        #expect(try await codes([place(["1", "7"], .first, in: "1", table: "public.tasks")]) == ["item_not_found"])
    }

    @Test("A change of list is rejected with item_exists if the target list has the item") func itemExists()
        async throws
    {
        let fixture = try await QueueFixture()
        try await fixture.enqueue([place(["2"], .last, in: "c")])
        try await fixture.drain()
        let ids = try await fixture.enqueue([place(["1", "2", "3"], .last), place(["2"], .last, in: "a", from: "c")])
        try await fixture.drain()
        #expect(try await fixture.outcomes()[ids[1]] == "item_exists")
        #expect(try await fixture.lists() == ["a": ["1", "2", "3"], "c": ["2"]])
    }

    @Test("A change of list is rejected with item_exists if the target list has the item as an unplaced row")
    func unplacedRowExists() async throws {
        let fixture = try await QueueFixture()
        try await fixture.connection.execute(
            script: """
                \(RegisteredTable.cards)
                INSERT INTO cards (board, card) VALUES ('a', 'x'), ('b', 'x')
                """)
        let ids = try await fixture.enqueue([place(["x"], .last, in: "a", from: "b", table: "public.cards")])
        try await fixture.drain()
        #expect(try await fixture.outcomes()[ids[0]] == "item_exists")
    }

    @Test("A request that a trigger refuses is rejected with SQLSTATE and message, and the rest is applied")
    func failed() async throws {
        let fixture = try await QueueFixture()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'no % here', NEW.item USING ERRCODE = 'P0042'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON brocot.items FOR EACH ROW WHEN (NEW.item = 'poison')
                EXECUTE FUNCTION refuse();
                """)
        let moves = (0..<40).map { place([$0 == 17 ? "poison" : "item \($0)"], .last) }
        let ids = try await fixture.enqueue(moves)
        try await fixture.drain()
        let outcomes = try await fixture.outcomes()
        #expect(ids.filter { outcomes[$0] != .some(nil) } == [ids[17]])
        #expect(try await fixture.lists()["a"]?.count == 39)
        let row = try await fixture.connection.query(
            "SELECT sqlstate, error FROM brocot.move_log WHERE outcome = 'rejected'")[0]
        #expect(try row.decode(0, as: String.self) == "P0042")
        #expect(try row.decode(1, as: String.self) == "no poison here")
    }

    @Test("A request that violates a user's deferred constraint is rejected with the code failed") func failedAtCommit()
        async throws
    {
        let fixture = try await QueueFixture()
        try await fixture.connection.execute(
            script: """
                CREATE TABLE allowed (item text PRIMARY KEY);
                INSERT INTO allowed VALUES ('1'), ('2');
                ALTER TABLE brocot.items ADD CONSTRAINT known FOREIGN KEY (item) REFERENCES allowed
                DEFERRABLE INITIALLY DEFERRED;
                """)
        let ids = try await fixture.enqueue([place(["1"], .last), place(["3"], .last), place(["2"], .last)])
        try await fixture.drain()
        let outcomes = try await fixture.outcomes()
        #expect(ids.map { outcomes[$0] } == [.some(nil), "failed", .some(nil)])
        #expect(try await fixture.lists() == ["a": ["1", "2"]])
    }
}
