import MoveQueue
import Ordering
import OrderingModel
import SeededRandom
import TestLimit
import TestPostgres
import Testing

@Suite("Moves", .database, .usualTimeLimit)
struct MoveTests {
    private func move(_ items: [String], _ action: Move.Action, in list: String = "a") -> Move {
        Move(list: ListIdentifier(orderedTable: "items", key: list), items: items, action: action)
    }

    private func place(_ items: [String], _ placement: Placement, in list: String = "a") -> Move {
        move(items, .place(placement), in: list)
    }

    @Test("Keys with quotes, emoji, SQL, blanks or other scripts are stored unchanged")
    func hostileKeys() async throws {
        let fixture = try await QueueFixture()
        let keys = ["'); DROP TABLE brocot.items; --", "\"", "\\", "🧑‍🚀", " ", "{a,b}", "NULL", "日本", "a\nb\tc", "%s%n"]
        for list in ["", "'; --", "🗂"] {
            try await fixture.enqueue(keys.map { place([$0], .first, in: list) })
            try await fixture.enqueue([place([keys[3]], .after(keys[0]), in: list)])
            try await fixture.drain()
            #expect(try await fixture.lists()[list] == keys.reversed().filter { $0 != keys[3] } + [keys[3]])
        }
    }

    @Test("An item can be placed at position 0, in between, at the end, and far beyond the end")
    func positions() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue([place(["1", "2", "3"], .last)])
        try await fixture.enqueue([
            place(["0"], .at(0)), place(["1.5"], .at(2)), place(["4"], .at(5)), place(["5"], .at(.max)),
        ])
        try await fixture.drain()
        #expect(try await fixture.lists()["a"] == ["0", "1", "1.5", "2", "3", "4", "5"])
    }

    @Test("Positions do not count the moved items")
    func positionWithoutMoved() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue([place(["1", "2", "3", "4"], .last), place(["1", "2"], .at(1))])
        try await fixture.drain()
        #expect(try await fixture.lists()["a"] == ["3", "1", "2", "4"])
    }

    @Test("Positions are correct in a list that is too long to be read whole", arguments: [1, 40])
    func positionsInLongList(movesAtOnce: Int) async throws {
        let fixture = try await QueueFixture()
        try await fixture.fill("a", count: 30_000)
        var model = (1...30_000).map(String.init)
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<3 {
            let moves = (0..<movesAtOnce).map { _ in
                let item = model.randomElement(using: &generator) ?? ""
                let position = Int.random(in: 0...30_010, using: &generator)
                model.removeAll { $0 == item }
                model.insert(item, at: min(position, model.count))
                return place([item], .at(position))
            }
            try await fixture.enqueue(moves)
            try await fixture.drain()
        }
        #expect(try await fixture.lists()["a"] == model)
    }

    @Test("A position far beyond the end of a long list places the item last")
    func positionBeyondLongList() async throws {
        let fixture = try await QueueFixture()
        try await fixture.fill("a", count: 1_000)
        try await fixture.enqueue([place(["1"], .at(5_000)), place(["2"], .at(.max)), place(["3"], .at(999))])
        try await fixture.drain()
        #expect(try await fixture.lists()["a"]?.suffix(4) == ["1000", "1", "2", "3"])
    }

    @Test("A block of 10,000 items keeps its order, and is rejected if its anchor is in the block")
    func largeBlock() async throws {
        let fixture = try await QueueFixture()
        let block = (1...10_000).map { "b\($0)" }
        try await fixture.enqueue([place(["x", "y"], .last), place(block, .after("x"))])
        try await fixture.drain()
        #expect(try await fixture.lists()["a"] == ["x"] + block + ["y"])
        let ids = try await fixture.enqueue([place(block.reversed(), .at(1)), place(block, .before("b5000"))])
        try await fixture.drain()
        #expect(try await fixture.lists()["a"] == ["x"] + block.reversed() + ["y"])
        let outcomes = try await fixture.outcomes()
        #expect(ids.map { outcomes[$0] } == [.some(nil), "anchor_is_moved"])
    }

    @Test("A block gets the same ranks as items that are placed one after the other")
    func ranksOfBlock() async throws {
        let fixture = try await QueueFixture()
        let ends = place(["x", "y"], .last, in: "b")
        try await fixture.enqueue([
            place(["x", "y"], .last), place(["1", "2", "3"], .after("x")), ends, place(["1"], .after("x"), in: "b"),
            place(["2"], .after("1"), in: "b"), place(["3"], .after("2"), in: "b"),
        ])
        try await fixture.drain()
        let ranks = try await fixture.connection.query(
            "SELECT string_agg(rank_num || '/' || rank_den, ' ' ORDER BY rank) FROM brocot.items GROUP BY list")
        for row in ranks { #expect(try row.decode(0) == "0/1 1/2 2/3 3/4 1/1") }
        #expect(ranks.count == 2)
    }

    @Test("A move that does not change the order writes no row")
    func noOperation() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue([place(["1", "2", "3", "4"], .last), place(["9"], .last, in: "b")])
        try await fixture.drain()
        func versions() async throws -> [String] {
            try await fixture.connection.query("SELECT item || ' ' || xmin || ' ' || ctid FROM brocot.items ORDER BY 1")
                .map { try $0.decode(0, as: String.self) }
        }
        let before = try await versions()
        let ids = try await fixture.enqueue([
            place(["1"], .first), place(["4"], .last), place(["2"], .after("1")), place(["2", "3"], .before("4")),
            place(["3"], .at(2)), place(["1", "2", "3", "4"], .at(0)), move(["9"], .remove),
        ])
        try await fixture.drain()
        #expect(try await versions() == before)
        let outcomes = try await fixture.outcomes()
        for id in ids { #expect(outcomes[id] == .some(nil)) }
    }

    @Test("Moves that undo each other write no row")
    func netEffect() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue([place(["1", "2", "3"], .last)])
        try await fixture.drain()
        let ids = try await fixture.enqueue([place(["4"], .after("2")), move(["4"], .remove)])
        try await fixture.drain()
        let count = try await fixture.connection.query("SELECT count(DISTINCT xmin::text) FROM brocot.items")
        #expect(try count[0].decode(0, as: Int.self) == 1)
        let outcomes = try await fixture.outcomes()
        #expect(ids.map { outcomes[$0] } == [.some(nil), .some(nil)])
    }

    @Test("An item that changes lists leaves its old list and takes its place in the new list")
    func changeOfList() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue([
            place(["1", "2", "3"], .last), place(["7", "8"], .last, in: "b"),
            move(["3", "1"], .place(.after("7"), from: "a"), in: "b"), move(["7"], .place(.first, from: "b")),
            move(["1"], .place(.last, from: "b")),
        ])
        try await fixture.drain()
        #expect(try await fixture.lists() == ["a": ["7", "2", "1"], "b": ["3", "8"]])
    }

    @Test("A removal removes the items that are there, and is applied even if there are none")
    func removal() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue([place(["1", "2"], .last)])
        let ids = try await fixture.enqueue([move(["2", "3"], .remove), move(["4"], .remove, in: "b")])
        try await fixture.drain()
        #expect(try await fixture.lists() == ["a": ["1"]])
        let outcomes = try await fixture.outcomes()
        #expect(ids.map { outcomes[$0] } == [.some(nil), .some(nil)])
    }

    @Test("A removal from a user's table sets the rank to NULL and keeps the row")
    func removalOfUsersRows() async throws {
        let fixture = try await QueueFixture()
        var model = ListModel(ownsRows: false)
        try await ModelTable.deferrable.create(lists: ["1"], items: ["1", "2"], in: &model, fixture.connection)
        let list = ListIdentifier(orderedTable: "public.tasks", key: "1")
        try await fixture.enqueue([
            Move(list: list, items: ["1", "2"], action: .place(.last)), Move(list: list, items: ["1"], action: .remove),
        ])
        try await fixture.drain()
        let rows = try await fixture.connection.query(
            "SELECT id, rank_num IS NULL AND rank_den IS NULL FROM tasks ORDER BY id")
        #expect(try rows.map { try $0.decode(1, as: Bool.self) } == [true, false])
    }

    @Test("Every request is logged once with its columns, and leaves the queue")
    func log() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue((0..<50).map { place(["\($0)"], .last, in: "\($0 % 7)") })
        try await fixture.drain(workers: 3)
        let rows = try await fixture.connection.query(
            """
            SELECT id FROM brocot.move_log
            WHERE outcome = 'applied' AND items = ARRAY[(id - \(ids[0]))::text] AND placement = 'last'
                AND applied_at >= requested_at AND rebalanced_rows = 0 AND error_code IS NULL
            ORDER BY id
            """)
        #expect(try rows.map { try $0.decode(0, as: Int64.self) } == ids)
        #expect(try await fixture.connection.query("SELECT FROM brocot.move_requests").isEmpty)
    }

    @Test("The log names the transaction that wrote the ranks, and marks requests of the queue as not direct")
    func transaction() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue((0..<20).map { place(["\($0)"], .last, in: "\($0 % 3)") })
        try await fixture.drain(workers: 3)
        let rows = try await fixture.connection.query(
            """
            SELECT FROM brocot.move_log AS logged JOIN brocot.items AS stored ON stored.item = logged.items[1]
            WHERE logged.xid::xid = stored.xmin AND NOT logged.direct
            """)
        #expect(rows.count == 20)
    }

    @Test("A request id that was logged before does not stop the queue")
    func reusedIdentifier() async throws {
        let fixture = try await QueueFixture()
        let insertion: String =
            "INSERT INTO brocot.move_requests (id, list, items, placement) OVERRIDING SYSTEM VALUE VALUES "
        try await fixture.connection.execute(script: insertion + "(7, 'a', '{1}', 'last')")
        try await fixture.drain()
        try await fixture.connection.execute(script: insertion + "(7, 'a', '{2}', 'last'), (8, 'a', '{3}', 'last')")
        try await fixture.drain()
        #expect(try await fixture.lists()["a"] == ["1", "2", "3"])
    }
}

extension QueueFixture {
    /// Gives a list the items 1, 2, …, count.
    func fill(_ list: String, count: Int) async throws {
        try await connection.execute(
            """
            INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
            SELECT \(list), n::text, n, 1, n FROM generate_series(1, \(count)) AS n
            """)
    }
}
