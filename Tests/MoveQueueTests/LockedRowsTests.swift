import Foundation
import LibPQ
import Ordering
import QueueHarness
import TestLimit
import TestPostgres
import Testing

@testable import MoveQueue

@Suite("Rows that an application has locked", .database, .usualTimeLimit)
struct LockedRowsTests {
    private func place(_ item: String, in list: String, of table: String) -> Move {
        Move(list: ListIdentifier(list, of: table), items: [item], action: .place(.first, from: nil))
    }

    private static let cards = RegisteredTable.script(
        columns: "list text, item text, PRIMARY KEY (list, item)", list: "list", item: "item")

    @Test("Rows that an application has locked delay only their own lists", arguments: ["public.cards", "items"])
    func othersGoOn(table: String) async throws {
        let fixture = try await QueueFixture()
        let lists = (1...100).map { "l\($0)" }
        if table == "public.cards" {
            try await fixture.connection.execute(
                script: """
                    \(Self.cards)
                    INSERT INTO cards (list, item) SELECT 'l' || n, i FROM generate_series(1, 100) AS n, unnest('{x,y}'::text[]) AS i
                    """)
        }
        try await fixture.enqueue(lists.flatMap { [place("x", in: $0, of: table), place("y", in: $0, of: table)] })
        try await fixture.drain()
        let relation: SQL = table == "items" ? "brocot.items" : "cards"
        let app = try await TestDatabase.current.connect()
        try await app.execute(script: "BEGIN")
        try await app.execute("SELECT FROM \(relation) WHERE item = 'x' AND list LIKE '%7%' FOR UPDATE")
        let locked = lists.filter { $0.contains("7") }
        try await fixture.enqueue(lists.map { place("x", in: $0, of: table) })
        var worker = QueueWorker()
        // The log has each wait.
        try await fixture.connection.execute(script: "SET log_lock_waits = on; SET deadlock_timeout = '1ms'")
        try await eventually("the other lists are done", pause: .zero) {
            _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
            return try await fixture.pendingIDs().count
        } until: {
            $0 <= locked.count
        }
        let pending = try await fixture.connection.query("SELECT list FROM brocot.move_requests")
        #expect(Set(try pending.map { try $0.decode(0, as: String.self) }) == Set(locked))
        // Only in users' tables does the daemon not wait for row locks.
        if table != "items" { #expect(try waits(of: fixture.connection) == []) }
        try await app.execute(script: "COMMIT")
        try await eventually("those lists are done", pause: .zero) {
            _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
            return try await fixture.pendingIDs()
        } until: {
            $0.isEmpty
        }
        #expect(try await fixture.lists(of: relation)["l7"] == ["x", "y"])
    }

    @Test("A change of list waits for no open transaction that has inserted a referring row, if no key has the list")
    func referringRow() async throws {
        let fixture = try await QueueFixture()
        try await fixture.connection.execute(
            script: """
                CREATE TABLE cards (id int PRIMARY KEY, board int, rank_num bigint, rank_den bigint, rank numeric);
                CREATE UNIQUE INDEX ON cards (board, rank) WHERE 'brocot' <> '';
                INSERT INTO cards (id, board) VALUES (1, 1), (2, 2);
                CREATE TABLE comments (card int REFERENCES cards);
                INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{board}', 'id', false);
                """)
        let app = try await TestDatabase.current.connect()
        try await app.execute(script: "BEGIN; INSERT INTO comments VALUES (1)")
        let change = Move(list: ListIdentifier("2", of: "public.cards"), items: ["1"], action: .place(.last, from: "1"))
        let ids = try await fixture.enqueue([change])
        try await withDeadline("the move is decided", within: .seconds(60)) { try await fixture.drain() }
        try await fixture.expectAllApplied(ids)
        try await app.execute(script: "COMMIT")
    }

    /// What the server's log says of this session's waits for locks.
    private func waits(of connection: Connection) throws -> [String] {
        let log = try String(contentsOfFile: TestDatabase.current.cluster.logFile, encoding: .utf8)
        return log.split(separator: "\n").filter {
            $0.contains("process \(connection.backendProcessIdentifier) still waiting for ")
        }.map(String.init)
    }

    /// A table whose trigger makes changes of list slow.
    private func slowCards(_ fixture: QueueFixture) async throws {
        try await fixture.connection.execute(
            script: """
                \(Self.cards)
                INSERT INTO cards SELECT 'a', n, n, 1, n FROM generate_series(1, 60) AS n;
                CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN IF NEW.list <> OLD.list THEN PERFORM pg_sleep(0.01); END IF; RETURN NEW; END $$;
                CREATE TRIGGER slow BEFORE UPDATE ON cards FOR EACH ROW EXECUTE FUNCTION slow();
                """)
    }

    @Test("A change of list that takes longer than a trial is also decided after another session had one of its lists")
    func slowChangeOfList() async throws {
        let fixture = try await QueueFixture()
        try await slowCards(fixture)
        let other = try await TestDatabase.current.connect()
        try await other.execute("SELECT pg_advisory_lock(brocot.list_lock_key('public.cards', 'b'))")
        let items = (1...60).map(String.init)
        try await fixture.enqueue([
            Move(list: ListIdentifier("b", of: "public.cards"), items: items, action: .place(.last, from: "a"))
        ])
        var worker = QueueWorker()
        for _ in 1...4 { _ = try await worker.runTurnDespiteTimeout(on: fixture.connection) }
        #expect(!worker.postponed.isEmpty)
        await other.close()
        try await eventually("the change of list is applied") {
            _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
            return try await fixture.pendingIDs()
        } until: {
            $0.isEmpty
        }
        #expect(try await fixture.lists(of: "cards") == ["b": items])
    }

    @Test(
        "A transaction that waits for a list is decided when another session gives back the list's lock, or a row's",
        arguments: [true, false])
    func waits(isLockOfList: Bool) async throws {
        let fixture = try await QueueFixture()
        try await slowCards(fixture)
        let other = try await TestDatabase.current.connect()
        try await other.execute(script: "BEGIN")
        try await other.execute(
            isLockOfList
                ? "SELECT pg_advisory_xact_lock(brocot.list_lock_key('public.cards', 'a'))"
                : "UPDATE cards SET item = item WHERE item = '7'")
        let list = ListIdentifier("a", of: "public.cards")
        try await fixture.enqueue([
            Move(list: list, items: (1...60).reversed().map(String.init), action: .place(.first))
        ])
        let refused = try await fixture.runBatch(.waitingFor(list))
        #expect(!refused.hasDecisions && refused.decisions.failures.isEmpty)
        #expect(refused.unavailable == [list])
        // On a busy machine, an attempt may end before anybody sees that it waits.
        async let decided = eventually(
            "the request is applied", read: { try await fixture.runBatch(.waitingFor(list)).decisions.applied },
            until: { $0 == 1 })
        try await TestDatabase.current.waitUntilBlocked(fixture.connection, by: other)
        try await other.execute(script: "COMMIT")
        _ = try await decided
    }

    @Test("A transaction that has waited for a list waits for other locks no longer than any other transaction")
    func settings() async throws {
        let fixture = try await QueueFixture()
        try await fixture.connection.execute(
            script: """
                CREATE TABLE seen (setting text);
                CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    INSERT INTO seen VALUES (current_setting('lock_timeout')),
                        (current_setting('idle_in_transaction_session_timeout'));
                    RETURN NULL;
                END $$;
                CREATE TRIGGER note AFTER INSERT ON brocot.items FOR EACH STATEMENT EXECUTE FUNCTION note()
                """)
        try await fixture.enqueue([Move(list: "l", items: ["a"], action: .place(.last, from: nil))])
        try await fixture.runBatch(.waitingFor("l"))
        let seen = try await fixture.connection.query("SELECT array_agg(setting) FROM seen").single()
        #expect(try seen.decode(0, as: [String].self) == ["250ms", "1min"])
    }

    @Test("A batch waits for a locked row of the built-in table only if its lists are not retried or tried in parts")
    func builtInRowOfBatch() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue(["x", "y"].map { place($0, in: "l", of: "items") })
        try await fixture.drain()
        let app = try await TestDatabase.current.connect()
        try await app.execute(script: "BEGIN; SELECT FROM brocot.items WHERE item = 'x' FOR UPDATE")
        try await fixture.enqueue([place("x", in: "l", of: "items")])
        func attempt(_ scope: ClaimScope, on connection: Connection) async throws {
            try await connection.execute(script: "SET log_lock_waits = on; SET deadlock_timeout = '1ms'")
            let report = try await fixture.runBatch(scope, on: connection)
            #expect(report.decisions.withLockedRows == ["l"] && report.decisions.failures.isEmpty)
        }
        let other = try await TestDatabase.current.connect()
        try await attempt(.lists(["l"]), on: other)
        try await attempt(.suspects(["l"]), on: other)
        let next = ClaimScope.next(from: .beginning, lists: 1, readingAhead: 1, withPartners: false)
        try await attempt(next, on: fixture.connection)
        try await eventually("the log has the wait of the next lists") { try !waits(of: fixture.connection).isEmpty }
        #expect(try waits(of: other) == [], "they would be in the log before")
    }
}
