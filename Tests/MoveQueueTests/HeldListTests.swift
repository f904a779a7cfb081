import LibPQ
import Ordering
import QueueHarness
import TestLimit
import TestPostgres
import Testing

@testable import MoveQueue

@Suite("Held lists", .database, .usualTimeLimit)
struct HeldListTests {
    private func place(_ item: String, in list: String = "a", of table: String = "items", from source: String? = nil)
        -> Move
    {
        Move(list: ListIdentifier(list, of: table), items: [item], action: .place(.last, from: source))
    }

    /// A queue that refuses an item with the name poison, for one of these ``causes``.
    private func fixture(_ cause: String = causes[0].trigger) async throws -> QueueFixture {
        let fixture = try await QueueFixture()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(cause); END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON brocot.items FOR EACH ROW WHEN (NEW.item = 'poison')
                EXECUTE FUNCTION refuse();
                UPDATE brocot.ordered_tables SET on_poison = 'hold';
                """)
        return fixture
    }

    /// What a trigger does, and the expected texts in the held list and the log.
    private static let causes = [
        (
            trigger: "RAISE EXCEPTION 'no % here', NEW.item USING ERRCODE = 'P0042'", sqlState: "P0042",
            message: "no poison here"
        ),
        (trigger: "RETURN NULL", sqlState: "09000", message: "a trigger on the table returns NULL"),
    ]

    private func pending(_ fixture: QueueFixture) async throws -> [Int64] {
        try await fixture.connection.query("SELECT id FROM brocot.move_requests ORDER BY id")
            .map { try $0.decode(0, as: Int64.self) }
    }

    @Test("A list that another worker holds after it was claimed is noticed when its requests are read")
    func heldAfterClaim() async throws {
        let fixture = try await fixture()
        let ids = try await fixture.enqueue([place("1"), place("1", in: "b")])
        let queue = QueueRepository(QueueConfiguration(), BatchLimits(), ReadProgress())
        func isAnyListHeld(_ lists: String...) async throws -> Bool? {
            try await fixture.connection.run { connection throws(QueueError) in
                try queue.readPending(in: lists.map { ListIdentifier($0) }, preferring: nil, on: connection)?
                    .isAnyListHeld
            }
        }
        #expect(try await isAnyListHeld("a", "b") == false)
        try await fixture.connection.execute(
            """
            INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at)
            VALUES ('items', 'a', \(ids[0]), 'refused', now())
            """)
        #expect(try await isAnyListHeld("a", "b") == true)
        #expect(try await isAnyListHeld("b") == false)
    }

    @Test("A refused request holds its list, while earlier requests and other lists are applied", arguments: causes)
    func holds(trigger: String, sqlState: String, message: String) async throws {
        let fixture = try await fixture(trigger)
        let ids = try await fixture.enqueue([
            place("1"), place("1", in: "b"), place("poison"), place("2"), place("2", in: "b"),
        ])
        try await fixture.drain()
        #expect(try await fixture.lists() == ["a": ["1"], "b": ["1", "2"]])
        #expect(try await pending(fixture) == [ids[2], ids[3]])
        let held = try await fixture.connection.query(
            "SELECT ordered_table, list, request_id, sqlstate, error FROM brocot.held_lists")
        #expect(held.count == 1)
        #expect(try held[0].decode(1, as: String.self) == "a")
        #expect(try held[0].decode(2, as: Int64.self) == ids[2])
        #expect(try held[0].decode(3, as: String.self) == sqlState)
        #expect(try held[0].decode(4, as: String.self).contains(message))
    }

    @Test("A held list delays its changes of list, and the requests that follow them in the other list")
    func changesOfListWait() async throws {
        let fixture = try await fixture()
        try await fixture.enqueue([place("1"), place("1", in: "b")])
        try await fixture.drain()
        let ids = try await fixture.enqueue([
            place("poison"), place("2", in: "b"), place("1", in: "c", from: "a"), place("2", in: "c"),
            place("3", in: "b"),
        ])
        try await fixture.drain()
        #expect(try await pending(fixture) == [ids[0], ids[2], ids[3]])
        #expect(try await fixture.lists() == ["a": ["1"], "b": ["1", "2", "3"]])
    }

    @Test("A worker reports that requests wait for a person if only those of held lists are pending")
    func onlyHeldIsLeft() async throws {
        let fixture = try await fixture()
        try await fixture.enqueue([place("poison"), place("1", in: "b", from: "a")])
        try await fixture.drain()
        var worker = QueueWorker()
        guard case .waiting = try await worker.runTurnDespiteTimeout(on: fixture.connection) else {
            Issue.record("the worker sees something else than held requests")
            return
        }
    }

    @Test("A released list continues with the same request after the cause was removed") func released()
        async throws
    {
        let fixture = try await fixture()
        try await fixture.enqueue([place("poison"), place("1")])
        try await fixture.drain()
        try await fixture.connection.execute(script: "DROP TRIGGER refuse ON brocot.items")
        let released = try await fixture.connection.query("SELECT brocot.release('a'), brocot.release('b')")[0]
        #expect(try released.decode(0, as: Bool.self))
        #expect(try !released.decode(1, as: Bool.self), "b was never held")
        try await fixture.drain()
        #expect(try await fixture.lists() == ["a": ["poison", "1"]])
        #expect(try await pending(fixture).isEmpty)
    }

    @Test("A released list is held again if the cause is still there") func heldAgain() async throws {
        let fixture = try await fixture()
        let ids = try await fixture.enqueue([place("poison"), place("1")])
        try await fixture.drain()
        try await fixture.connection.execute("SELECT brocot.release('a')")
        try await fixture.drain()
        #expect(try await pending(fixture) == ids)
        #expect(try await fixture.connection.query("SELECT FROM brocot.held_lists").count == 1)
    }

    @Test(
        "brocot.release with reject => true rejects and logs the first request, and the list continues",
        arguments: causes)
    func rejected(trigger: String, sqlState: String, message: String) async throws {
        let fixture = try await fixture(trigger)
        let ids = try await fixture.enqueue([place("poison"), place("1")])
        try await fixture.drain()
        let released = try await fixture.connection.query("SELECT brocot.release('a', reject => true)").single()
        #expect(try released.decode(0, as: Bool.self))
        try await fixture.drain()
        #expect(try await fixture.lists() == ["a": ["1"]])
        #expect(try await fixture.outcomes() == [ids[0]: "failed", ids[1]: nil])
        let log = try await fixture.connection.query("SELECT sqlstate, error FROM brocot.move_log WHERE id = \(ids[0])")
        #expect(try log[0].decode(0, as: String.self) == sqlState)
        #expect(try log[0].decode(1, as: String.self).contains(message))
    }

    @Test("brocot.release releases only the list of the table that it names")
    func attachedTable() async throws {
        let fixture = try await fixture()
        try await fixture.connection.execute(
            script: """
                \(RegisteredTable.script(columns: "list text, item text, PRIMARY KEY (list, item)", list: "list", item: "item"))
                INSERT INTO cards (list, item) VALUES ('a', 'poison'), ('a', '1');
                UPDATE brocot.ordered_tables SET on_poison = 'hold';
                CREATE TRIGGER refuse BEFORE UPDATE ON cards FOR EACH ROW WHEN (NEW.item = 'poison')
                EXECUTE FUNCTION refuse();
                """)
        let ids = try await fixture.enqueue([
            place("poison"), place("poison", of: "public.cards"), place("1", of: "public.cards"),
        ])
        try await fixture.drain()
        #expect(try await pending(fixture) == ids)
        let released = try await fixture.connection.query(
            "SELECT brocot.release('a', 'public.cards', reject => true)"
        ).single()
        #expect(try released.decode(0, as: Bool.self))
        try await fixture.drain()
        #expect(try await fixture.outcomes() == [ids[1]: "failed", ids[2]: nil])
        #expect(try await fixture.lists(of: "cards") == ["a": ["1"]])
        #expect(try await pending(fixture) == [ids[0]], "the list a of the built-in table is still held")
    }
}
