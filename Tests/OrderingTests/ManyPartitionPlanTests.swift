import LibPQ
import SternBrocot
import TestLimit
import TestPostgres
import Testing

@testable import Ordering

@Suite("Query plans on tables with many partitions", .database, .usualTimeLimit)
struct ManyPartitionPlanTests {
    struct Partitioning: Sendable, CustomTestStringConvertible {
        let method: String
        /// The bounds of the two partitions.
        let bounds: [String]
        let listColumns: [KeyColumn]
        /// The list of all rows, and its values as SQL.
        let list: String
        let values: String
        /// Whether the unique key begins with the item.
        var beginsWithItem = false

        var key: [String] { beginsWithItem ? ["id"] + listColumns.map(\.name) : listColumns.map(\.name) + ["id"] }
        var testDescription: String { "\(method), \(list), key \(key)" }
    }

    private static let team = KeyColumn("team", .bigint)
    private static let remainders = ["WITH (MODULUS 2, REMAINDER 0)", "WITH (MODULUS 2, REMAINDER 1)"]
    private static let state = KeyType.enumeration(.init(schema: "public", name: "state", labels: ["todo", "it's"]))

    private static let partitionings = [
        Partitioning(
            method: "LIST (state)", bounds: ["IN ('todo')", "IN ('done')"],
            listColumns: [team, KeyColumn("state", .text)],
            list: #"["7", "todo"]"#, values: "7, 'todo'"),
        Partitioning(
            method: "RANGE (team)", bounds: ["FROM (0) TO (10)", "FROM (10) TO (20)"],
            listColumns: [team, KeyColumn("state", .text)], list: #"["7", "todo"]"#, values: "7, 'todo'"),
        Partitioning(
            method: "HASH (team, state)", bounds: remainders, listColumns: [team, KeyColumn("state", .text)],
            list: #"["7", "todo"]"#, values: "7, 'todo'"),
        Partitioning(method: "HASH (team)", bounds: remainders, listColumns: [team], list: "7", values: "7"),
        Partitioning(
            method: "HASH (team)", bounds: remainders, listColumns: [team], list: "7", values: "7",
            beginsWithItem: true),
        Partitioning(
            method: "HASH (name)", bounds: remainders, listColumns: [KeyColumn("name", .varchar(longest: 20))],
            list: #"it's \"#, values: #"E'it\'s \\'"#),
        Partitioning(
            method: "RANGE (day)",
            bounds: ["FROM ('2026-01-01') TO ('2026-02-01')", "FROM ('2026-02-01') TO (MAXVALUE)"],
            listColumns: [KeyColumn("day", .date)], list: "2026-01-07", values: "'2026-01-07'"),
        Partitioning(
            method: "LIST (state)", bounds: ["IN ('todo')", "IN ('it''s')"], listColumns: [KeyColumn("state", state)],
            list: "it's", values: "'it''s'"),
        Partitioning(
            method: "LIST (done)", bounds: ["IN (true)", "IN (false)"],
            listColumns: [team, KeyColumn("done", .boolean)],
            list: #"["7", "false"]"#, values: "7, false"),
    ]

    /// A table with two partitions and 2,000 rows in one list. It counts as a table with many partitions.
    private func table(
        _ partitioning: Partitioning, lookUpColumns: [String]?, on connection: Connection
    ) async throws -> OrderedTable {
        let columns = partitioning.listColumns.map(\.name).joined(separator: ", ")
        let definitions = partitioning.listColumns.map { "\($0.name) \($0.type.name)" }.joined(separator: ", ")
        try await connection.execute(
            script: """
                CREATE TYPE state AS ENUM ('todo', 'it''s');
                CREATE TABLE cards (
                    id bigint, rank numeric, rank_num bigint, rank_den bigint, \(definitions), PRIMARY KEY (\(partitioning.key.joined(separator: ", ")))
                ) PARTITION BY \(partitioning.method);
                CREATE TABLE cards_1 PARTITION OF cards FOR VALUES \(partitioning.bounds[0]);
                CREATE TABLE cards_2 PARTITION OF cards FOR VALUES \(partitioning.bounds[1]);
                CREATE UNIQUE INDEX brocot_cards ON cards (\(columns), rank);
                \(lookUpColumns == nil ? "" : "CREATE INDEX further ON cards (id);")
                INSERT INTO cards (id, rank, rank_num, rank_den, \(columns))
                SELECT n, n, n, 1, \(partitioning.values) FROM generate_series(1, 2000) AS n;
                """)
        return OrderedTable(
            name: "public.cards", schema: "public", table: "cards", listColumns: partitioning.listColumns,
            itemColumn: KeyColumn("id", .bigint), ownsRows: false, lookUpColumns: lookUpColumns, hasManyPartitions: true
        )
    }

    @Test(
        "A plan for a list has the list's partition alone, and reads along one index", arguments: partitionings,
        [true, false])
    func plans(partitioning: Partitioning, hasFurtherIndex: Bool) async throws {
        let connection = try await TestDatabase.current.connect()
        let table = try await table(
            partitioning, lookUpColumns: hasFurtherIndex ? partitioning.key : nil, on: connection)
        let statements = OrderingStatements(table).limited(to: partitioning.list)
        for script in ["SELECT 1", "ANALYZE cards", "DELETE FROM cards; ANALYZE cards"] {
            try await connection.execute(script: script)
            for statement in AttachedPlanTests.statements(statements, partitioning.list) {
                let plan = try await connection.genericPlan(
                    of: statement, settings: MoveApplication.plannerSettings, script: "SELECT 1")
                expectOnePartition(in: plan)
            }
        }
    }

    private func expectOnePartition(in plan: String) {
        let partitions = Set(plan.matches(of: /cards_[12]\b/).map { String($0.output) })
        #expect(partitions.count == (plan.contains("Insert on cards") ? 0 : 1), "\(plan)")
        #expect(!plan.contains("Sort") && !plan.contains("Bitmap") && !plan.contains("Seq Scan"), "\(plan)")
        let isWriting = plan.contains("Delete on") || plan.contains("Update on")
        #expect(!isWriting || plan.contains("TID Cond: "), "\(plan)")
        let lines = plan.split(separator: "\n")
        for (line, next) in zip(lines, lines.dropFirst()) where line.contains(" on cards_") && line.contains("Index") {
            #expect(next.contains("Index Cond: "), "\(plan)")
            #expect(next.contains(line.contains("_rank_idx") ? "(rank " : "id"), "\(plan)")
        }
    }

    @Test("While a plan is executed, the row of a key is searched in its partition alone", arguments: partitionings)
    func execution(partitioning: Partitioning) async throws {
        let connection = try await TestDatabase.current.connect()
        let table = try await table(partitioning, lookUpColumns: partitioning.key, on: connection)
        let lookUp = RowLookUp(table)
        let values = table.listValues(of: partitioning.list) ?? []
        let plan = try await connection.inTransaction(settings: MoveApplication.plannerSettings) {
            connection throws(PostgresError) in
            var lines: [String] = []
            let explained = try connection.query(
                """
                EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)
                WITH wanted AS MATERIALIZED (SELECT \(lookUp.key(lists: "\(values)", item: "'7'"))),
                present AS MATERIALIZED (SELECT wanted.*, found.* FROM wanted \(lookUp.location(of: "wanted")))
                UPDATE cards AS stored SET rank = NULL FROM present WHERE \(lookUp.isStillUnplaced(at: "present"))
                """)
            for row in explained { lines.append(try row.decode(0, as: String.self)) }
            return lines
        }
        for scan in plan where scan.contains(" on cards_") && scan.contains("Scan") {
            let isOfOther = scan.contains("(never executed)")
            let isOfList = scan.contains("loops=1")
            #expect(isOfOther || isOfList, "\(scan)")
        }
        #expect(plan.filter { $0.contains(" on cards_") && $0.contains("never executed") }.count == 2, "\(plan)")
    }

    @Test("A table has many partitions if one plan would contain more than 100, on all levels")
    func countPartitions() async throws {
        let connection = try await TestDatabase.current.connect()
        func hasManyPartitions() async throws -> Bool? {
            try await connection.run { connection in
                try OrderedTable.named("public.cards", on: connection)
            }?.hasManyPartitions
        }
        try await connection.execute(
            script: """
                CREATE TABLE cards (
                    id bigint, team bigint, rank numeric, rank_num bigint, rank_den bigint, PRIMARY KEY (team, id)
                ) PARTITION BY HASH (team);
                DO $$ BEGIN FOR number IN 0..98 LOOP
                    EXECUTE format('CREATE TABLE part_%1$s PARTITION OF cards FOR VALUES WITH (MODULUS 100, REMAINDER %1$s)', number);
                END LOOP; END $$;
                CREATE TABLE part_99 PARTITION OF cards FOR VALUES WITH (MODULUS 100, REMAINDER 99) PARTITION BY HASH (team);
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
                VALUES ('public.cards', 'public', 'cards', '{team}', 'id', false);
                """)
        #expect(try await hasManyPartitions() == false)
        try await connection.execute(
            script: "CREATE TABLE part_100 PARTITION OF part_99 FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
        #expect(try await hasManyPartitions() == true)
    }

    @Test("Lists that are read one after another take no more time together than one statement may take")
    func timeForLists() async throws {
        let connection = try await TestDatabase.current.connect()
        let table = try await table(Self.partitionings[3], lookUpColumns: nil, on: connection)
        let needs = ["7", "8"].map {
            ListNeed(list: ListIdentifier($0, of: table.name), wanted: .row(key: ExactText("7"), below: 1, above: 1))
        }
        func read(within time: Duration) async throws -> Int {
            try await connection.run { connection in
                try OrderedTableRepository(table, timeForLists: time).read(needs, on: connection).count
            }
        }
        #expect(try await read(within: .seconds(600)) == 2)
        let error = await #expect(throws: OrderingError.self) { _ = try await read(within: .zero) }
        guard case .tookTooLong("public.cards") = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
