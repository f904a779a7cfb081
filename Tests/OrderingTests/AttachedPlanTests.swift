import LibPQ
import SternBrocot
import TestLimit
import TestPostgres
import Testing

@testable import Ordering

@Suite("Query plans on attached tables", .database, .usualTimeLimit)
struct AttachedPlanTests {
    private static let lists: [[KeyColumn]] = [
        [], [KeyColumn("team", .bigint)], [KeyColumn("team", .bigint), KeyColumn("state", .text)],
    ]

    private func table(_ columns: [KeyColumn]) async throws -> (OrderedTable, Connection) {
        let connection = try await TestDatabase.current.connect()
        let names = (columns.map(\.name) + ["place"]).joined(separator: ", ")
        try await connection.execute(
            script: """
                CREATE TABLE cards (
                    id bigint PRIMARY KEY, team bigint, state text, place numeric, place_num bigint, place_den bigint);
                CREATE UNIQUE INDEX brocot_cards_place ON cards (\(names));
                INSERT INTO cards SELECT n, 7, 'todo', n, n, 1 FROM generate_series(1, 2000) AS n;
                """)
        let table = OrderedTable(
            name: "public.cards.place", schema: "public", table: "cards", listColumns: columns,
            itemColumn: KeyColumn("id", .bigint), ownsRows: false, rankColumn: "place")
        return (table, connection)
    }

    /// Each statement of moves, for items of one list.
    static func statements(_ statements: OrderingStatements, _ list: String) -> [SQL] {
        let change = RowChange(key: "7", storedList: list, list: list, rank: Rank(numerator: 1, denominator: 2))
        var rows = RowsWanted()
        (rows.lists, rows.keys, rows.below, rows.above) = ([list], ["4"], [3], [3])
        var runs = RunsWanted()
        (runs.lists, runs.numerators, runs.denominators, runs.counts) = ([list], [5], [1], [10])
        return [
            statements.rows(rows), statements.runs(runs, .up), statements.runs(runs, .down),
            statements.rows(of: list, at: AscendingOffsets([500]), count: 5), statements.count(of: list),
            statements.lock([change], .forRanks), statements.tryLock([change], .forRanks),
            statements.clearRanks([change]),
            statements.updateRanks([change]), statements.updateListsAndRanks([change]), statements.delete([change]),
            statements.insert([change]),
        ]
    }

    @Test(
        "Each statement on an attached table scans one index, for lists of any number of columns",
        arguments: lists.indices) func statements(_ number: Int) async throws
    {
        let columns = Self.lists[number]
        let (table, connection) = try await table(columns)
        let list = ["", "7", #"["7", "todo"]"#][columns.count]
        let all = Self.statements(OrderingStatements(table), list)
        for script in ["SELECT 1", "ANALYZE cards", "DELETE FROM cards; ANALYZE cards"] {
            try await connection.execute(script: script)
            for statement in all {
                let plan = try await connection.genericPlan(
                    of: statement, settings: MoveApplication.plannerSettings, script: "SELECT 1")
                expectOneIndex(in: plan)
            }
        }
    }

    /// Each scan of the table must be by location, or by an index on the item or the rank. Only an INSERT has no scan.
    private func expectOneIndex(in plan: String) {
        let lines = plan.split(separator: "\n")
        let scans = zip(lines, lines.dropFirst()).filter { $0.0.contains(" on cards ") && $0.0.contains("Scan") }
        #expect(scans.isEmpty == plan.contains("Insert on cards"), "\(plan)")
        for (line, next) in scans {
            if line.contains("Tid Scan") {
                #expect(next.contains("TID Cond: (ctid = "), "\(plan)")
            } else {
                #expect(next.contains("Index Cond: "), "\(plan)")
                #expect(next.contains(line.contains("using cards_pkey") ? "(id " : "(place "), "\(plan)")
            }
        }
        #expect(!plan.contains("Sort"), "\(plan)")
    }

    /// Unique keys, and the condition of an index scan that looks rows up by them.
    private static let uniqueKeys = [
        ("team, state, id", "ROW(team, state, id) >="), ("id, team, state", "ROW(id, team, state) >="),
        ("team, id", "ROW(team, id) >="), ("id", "(id >="),
    ]

    @Test(
        "Rows are looked up by the unique key, even if other indexes begin with the item's column",
        arguments: uniqueKeys)
    func furtherIndexes(key: String, condition: String) async throws {
        let connection = try await TestDatabase.current.connect()
        let isUniqueAlone = key == "id"
        try await connection.execute(
            script: """
                CREATE TABLE cards (
                    id bigint, team bigint, state text, title text, rank numeric, rank_num bigint, rank_den bigint,
                    CONSTRAINT one PRIMARY KEY (\(key)));
                CREATE UNIQUE INDEX brocot_cards ON cards (team, state, rank);
                CREATE INDEX further_1 ON cards (id); CREATE INDEX further_2 ON cards (id, title);
                CREATE INDEX further_3 ON cards (id, state, title); CREATE INDEX further_4 ON cards (state, id);
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
                VALUES ('public.cards', 'public', 'cards', '{team,state}', 'id', false);
                """)
        let named = try await connection.run { connection in
            try OrderedTable.named("public.cards", on: connection)
        }
        let table = try #require(named)
        #expect(table.lookUpColumns?.joined(separator: ", ") == key)
        let list = #"["7", "todo"]"#
        let change = RowChange(key: "7", storedList: list, list: list, rank: Rank(numerator: 1, denominator: 2))
        let statements = OrderingStatements(table)
        var rows = RowsWanted()
        (rows.lists, rows.keys, rows.below, rows.above) = ([list], ["4"], [3], [3])
        // The same item in very many lists, and few items in each.
        let fill = """
            INSERT INTO cards SELECT \(isUniqueAlone ? "n" : "n % 5"), n / 5, 'todo', 't', n, n, 1 FROM generate_series(1, 20000) AS n
            """
        for script in [fill, "ANALYZE cards", "DELETE FROM cards", "VACUUM (ANALYZE, TRUNCATE off) cards", fill] {
            try await connection.execute(script: script)
            for statement in [
                statements.rows(rows), statements.lock([change], .forRanks), statements.tryLock([change], .forRanks),
                statements.clearRanks([change]), statements.updateRanks([change]), statements.delete([change]),
            ] {
                let plan = try await connection.genericPlan(
                    of: statement, settings: MoveApplication.plannerSettings, script: "SELECT 1")
                #expect(plan.contains(condition), "\(plan)")
                #expect(isUniqueAlone || !plan.contains("further_"), "\(plan)")
                #expect(!plan.contains("Sort"), "\(plan)")
            }
        }
    }

    @Test("An ordered table gets no look-up columns if no other index begins with the item's column")
    func noFurtherIndex() async throws {
        let connection = try await TestDatabase.current.connect()
        let table = try await connection.run { connection in
            try OrderedTable.named("items", on: connection)
        }
        #expect(try #require(table).lookUpColumns == nil)
    }
}
