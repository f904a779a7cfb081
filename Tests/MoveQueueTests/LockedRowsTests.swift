import LibPQ
import MoveQueue
import Ordering
import TestPostgres
import Testing

@Suite("Rows that an application has locked", .database, .timeLimit(.minutes(30)))
struct LockedRowsTests {
    private func place(_ item: String, in list: String, of table: String) -> Move {
        Move(list: ListIdentifier(list, of: table), items: [item], action: .place(.first, from: nil))
    }

    @Test("Rows that an application has locked delay only their own lists", arguments: ["public.cards", "items"])
    func othersGoOn(table: String) async throws {
        let fixture = try await QueueFixture()
        let lists = (1...100).map { "l\($0)" }
        if table == "public.cards" {
            try await fixture.connection.execute(
                script: """
                    CREATE TABLE cards (
                        list text, item text, rank_num bigint, rank_den bigint,
                        rank numeric,
                        PRIMARY KEY (list, item), UNIQUE (list, rank) DEFERRABLE INITIALLY IMMEDIATE);
                    INSERT INTO cards (list, item) SELECT 'l' || n, i FROM generate_series(1, 100) AS n, unnest('{x,y}'::text[]) AS i;
                    INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{list}', 'item', false);
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
        let start = ContinuousClock.now
        while try await fixture.connection.query("SELECT FROM brocot.move_requests").count > locked.count {
            try #require(.now - start < .seconds(30), "the other lists are not done within 30 s")
            _ = try await worker.runBatch(on: fixture.connection)
        }
        let pending = try await fixture.connection.query("SELECT list FROM brocot.move_requests")
        #expect(Set(try pending.map { try $0.decode(0, as: String.self) }) == Set(locked))
        // Only in users' tables does the daemon not wait for row locks, so only there is the time limited.
        if table != "items" { #expect(.now - start < .seconds(5)) }
        try await app.execute(script: "COMMIT")
        while try await !fixture.connection.query("SELECT FROM brocot.move_requests").isEmpty {
            try #require(.now - start < .seconds(60), "those lists are not done within a minute")
            _ = try await worker.runBatch(on: fixture.connection)
        }
        #expect(try await fixture.lists(of: relation)["l7"] == ["x", "y"])
    }
}
