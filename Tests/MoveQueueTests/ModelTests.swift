import Foundation
import MoveQueue
import Ordering
import OrderingModel
import SeededRandom
import TestPostgres
import Testing

@Suite("Random requests end as plain arrays do", .timeLimit(.minutes(10)))
struct ModelTests {
    /// How many requests each case applies: half of BROCOT_MODEL_REQUESTS.
    private static let requests =
        (ProcessInfo.processInfo.environment["BROCOT_MODEL_REQUESTS"].flatMap(Int.init) ?? 20_000) / 2

    @Test("in the built-in table", .database)
    func builtIn() async throws {
        try await compare(.items)
    }

    @Test("in a table of the user's", .database)
    func attached() async throws {
        try await compare(.deferrable)
    }

    @Test(
        "in a table of the user's with a plain unique index, lists of two columns and ranks of another name", .database)
    func listsOfTwoColumns() async throws {
        try await compare(.ofTwoColumns)
    }

    /// Where the rows are.
    private enum Place: String {
        case items, deferrable, ofTwoColumns

        /// The lists that the rows are in.
        var lists: [String] {
            self == .ofTwoColumns
                ? ["a", "\\\"é\\t"].flatMap { team in [0, 7, -7].map { "[\"\(team)\", \"\($0)\"]" } }
                : (1...6).map(String.init)
        }
    }

    private func stored(_ place: Place, _ fixture: QueueFixture) async throws -> [String: [String]] {
        switch place {
        case .items: try await fixture.lists()
        case .deferrable: try await fixture.lists(of: "tasks", list: "board", item: "id")
        case .ofTwoColumns:
            try await fixture.lists(
                of: "tasks", list: "brocot.list_key(team, board::text)", item: "id", rank: "place")
        }
    }

    private func compare(_ place: Place) async throws {
        let ownsRows = place == .items
        let seed = UInt64.random(in: 0..<1_000_000)
        print("seed \(seed), \(Self.requests) requests, \(place)")
        var generator = SeededGenerator(seed: seed)
        let fixture = try await QueueFixture()
        var model = ListModel(ownsRows: ownsRows)
        let lists = place.lists
        let count = [20, 60, 700].randomElement(using: &generator) ?? 60
        let items = (1...count).map(String.init)
        var usedKeys: Set<String> = []
        switch place {
        case .items: break
        case .deferrable: try await fixture.createTasks(lists: lists, items: items, model: &model)
        case .ofTwoColumns: try await fixture.createTasksOfTwoColumns(lists: lists, items: items, model: &model)
        }
        var moves = RandomMoves(
            generator: SeededGenerator(seed: seed &+ 1),
            orderedTable: ["items": "items", "deferrable": "public.tasks"][place.rawValue] ?? "public.tasks.place",
            lists: lists, items: items, longestBlock: 50, rejectingMissing: 20, arriving: 6)
        var done = 0
        while done < Self.requests {
            let size = Int.random(in: 1...600, using: &generator)
            let batch = (0..<size).map { _ in moves.next() }
            // Now and then a key comes again: such a request is skipped.
            let keys = batch.map { _ -> String? in
                Int.random(in: 0..<4, using: &generator) > 0
                    ? nil : "\(Int.random(in: 0..<Self.requests, using: &generator))"
            }
            let ids = try await fixture.enqueue(batch, idempotencyKeys: keys)
            let isNew = keys.map { $0.map { usedKeys.insert($0).inserted } ?? true }
            let expected = zip(batch, isNew).filter(\.1).map { model.apply($0.0)?.rawValue }
            var configuration = QueueConfiguration()
            configuration.requestsPerBatch = Int.random(in: 1...400, using: &generator)
            configuration.requestsPerList = Int.random(in: 1...200, using: &generator)
            configuration.listsPerBatch = Int.random(in: 2...6, using: &generator)
            // A limit that the longest list fits in with room to spare, since a full list is rejected.
            let limits: [Int64] = [items.count > 60 ? 1 << 12 : 1 << 8, 1 << 14, 1 << 62]
            let limit = limits.randomElement(using: &generator) ?? limits[0]
            configuration.rebalancing = RebalancingPolicy(limit: limit)
            configuration.rowsPerLookup = [0, 1, 24].randomElement(using: &generator) ?? 0
            let workers = Int.random(in: 1...4, using: &generator)
            try await fixture.drain(configuration, workers: workers)

            let outcomes = try await fixture.outcomes(since: ids.first ?? 0)
            let actual = ids.map { outcomes[$0] }
            try #require(actual == expected, "seed \(seed), after \(done) requests")
            let stored = try await stored(place, fixture)
            for list in lists {
                try #require(
                    stored[list] ?? [] == model.lists[list]?.placed ?? [], "seed \(seed), list \(list), after \(done)")
            }
            done += size
        }
    }
}

extension QueueFixture {
    /// A table of the user's, with a row for each item, and registers it.
    func createTasks(lists: [String], items: [String], model: inout ListModel) async throws {
        try await connection.execute(
            script: """
                CREATE TABLE tasks (
                    id bigint PRIMARY KEY, board integer NOT NULL, rank_num bigint, rank_den bigint,
                    rank numeric,
                    UNIQUE (board, rank) DEFERRABLE INITIALLY IMMEDIATE);
                INSERT INTO brocot.ordered_tables VALUES ('public.tasks', 'public', 'tasks', '{board}', 'id', false);
                """)
        for (offset, item) in items.enumerated() {
            let list = lists[offset % lists.count]
            model.addUnplaced(item, to: list)
            try await connection.execute(script: "INSERT INTO tasks (id, board) VALUES (\(item), \(list))")
        }
    }
    /// The same with a plain unique index, lists of two columns, and rank columns of another name.
    func createTasksOfTwoColumns(lists: [String], items: [String], model: inout ListModel) async throws {
        try await connection.execute(
            script: """
                CREATE TABLE tasks (
                    id bigint PRIMARY KEY, team text, board integer, place_num bigint, place_den bigint, place numeric);
                CREATE UNIQUE INDEX brocot_tasks_place ON tasks (team, board, place);
                INSERT INTO brocot.ordered_tables
                    (name, schema_name, table_name, list_columns, item_column, rank_column, owns_rows)
                VALUES ('public.tasks.place', 'public', 'tasks', '{team,board}', 'id', 'place', false);
                """)
        for (offset, item) in items.enumerated() {
            let list = lists[offset % lists.count]
            model.addUnplaced(item, to: list)
            try await connection.execute(
                """
                INSERT INTO tasks (id, team, board)
                SELECT \(item)::text::bigint, key ->> 0, (key ->> 1)::integer FROM (SELECT \(list)::text::jsonb) AS list (key)
                """)
        }
    }
}
