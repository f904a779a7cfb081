import LibPQ
import SternBrocot
import TestPostgres
import Testing

@testable import Ordering

@Suite(
    "Statements on attached tables go along one index, whatever columns lists have", .database,
    .timeLimit(.minutes(10)))
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

    @Test(arguments: lists.indices) func statements(_ number: Int) async throws {
        let columns = Self.lists[number]
        let (table, connection) = try await table(columns)
        let list = ["", "7", #"["7", "todo"]"#][columns.count]
        let change = RowChange(key: "7", storedList: list, list: list, rank: Rank(numerator: 1, denominator: 2))
        let statements = OrderingStatements(table)
        var rows = RowsWanted()
        (rows.lists, rows.keys, rows.below, rows.above) = ([list], ["4"], [3], [3])
        var runs = RunsWanted()
        (runs.lists, runs.numerators, runs.denominators, runs.counts) = ([list], [5], [1], [10])
        let all = [
            statements.rows(rows), statements.runs(runs, .up), statements.runs(runs, .down),
            statements.rows(of: list, at: AscendingOffsets([500]), count: 5), statements.count(of: list),
            statements.lock([change]), statements.lockFree([change], .forRanks), statements.takeRanks([change]),
            statements.updateRanks([change]), statements.updateListsAndRanks([change]), statements.delete([change]),
            statements.insert([change]),
        ]
        for script in ["SELECT 1", "ANALYZE cards", "DELETE FROM cards; ANALYZE cards"] {
            try await connection.execute(script: script)
            for statement in all {
                let plan = try await connection.genericPlan(
                    of: statement, settings: OrderingStatements.plannerSettings, script: "SELECT 1")
                expectOneIndex(in: plan)
            }
        }
    }

    /// Each scan of the table goes to places, or into an index by the item or the rank.
    private func expectOneIndex(in plan: String) {
        let lines = plan.split(separator: "\n")
        for (line, next) in zip(lines, lines.dropFirst()) where line.contains(" on cards ") && line.contains("Scan") {
            if line.contains("Tid Scan") {
                #expect(next.contains("TID Cond: (ctid = "), "\(plan)")
            } else {
                #expect(next.contains("Index Cond: "), "\(plan)")
                #expect(next.contains(line.contains("using cards_pkey") ? "(id " : "(place "), "\(plan)")
            }
        }
        #expect(!plan.contains("Sort"), "\(plan)")
    }
}
