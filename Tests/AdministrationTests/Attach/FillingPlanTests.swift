import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Plans of the statement that places existing rows", .database, .usualTimeLimit)
struct FillingPlanTests {
    /// The planner's statistics of a table with thousands of rows without a rank in one list.
    enum History: String, CaseIterable {
        case neverAnalyzed = ""
        case analyzedInManyLists = "UPDATE cards SET board = item; ANALYZE cards; UPDATE cards SET board = 'x'"
        case analyzedWithRanks =
            """
            UPDATE cards SET (rank, rank_num, rank_den) = (n, n, 1) FROM (SELECT item AS i, row_number() OVER () AS n FROM cards) AS r
            WHERE item = i; ANALYZE cards; UPDATE cards SET (rank, rank_num, rank_den) = (NULL, NULL, NULL)
            """
    }

    @Test(
        "Rows are found by the unique key, and written by their location, with any statistics",
        arguments: History.allCases,
        ["", "PARTITION BY HASH (board)"])
    func plan(_ history: History, partitioning: String) async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE cards (board text, item text, PRIMARY KEY (board, item)) \(partitioning);
            \(partitioning.isEmpty ? "" : "CREATE TABLE one_part PARTITION OF cards FOR VALUES WITH (MODULUS 1, REMAINDER 0);")
            INSERT INTO cards SELECT 'x', n FROM generate_series(1, 5000) AS n;
            """)
        let definition = AttachFixture.definition(table: "cards", lists: ["board"], item: "item")
        let columns = try await fixture.prepare(definition).columns
        try await fixture.connection.execute(
            script: "SET brocot.writing = 'public.cards'; \(history.rawValue); RESET brocot.writing")
        let registered = try await fixture.connection.run { connection in
            try OrderedTable.named("public.cards", on: connection)
        }
        let statements = FillingStatements(columns)

        let plan = try await fixture.connection.genericPlan(
            of: statements.batch(after: 0, size: 2_000, RowLookUp(#require(registered))), settings: statements.settings)

        let stored = plan.split(separator: "\n").filter { $0.contains(" on cards") || $0.contains(" on one_part") }
        let scans = stored.filter { $0.contains("Scan") }
        #expect(scans.count == 3, "\(plan)")
        #expect(scans.count { $0.contains("Tid Scan") } == 2, "\(plan)")
        #expect(scans.count { $0.contains("Index Scan using") && $0.contains("_pkey on") } == 1, "\(plan)")
    }
}
