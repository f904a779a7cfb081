import Administration
import LibPQ
import Ordering
import OrderingModel
import TestLimit
import TestPostgres
import Testing

@Suite("Moves at once in partitioned tables", .database, .usualTimeLimit) struct PartitionOfMoveTests {
    private static let kinds = [
        "LIST (board)": ["IN (1)", "IN (2)"], "RANGE (board)": ["FROM (0) TO (2)", "FROM (2) TO (9)"],
        "HASH (team, board)": ["WITH (MODULUS 2, REMAINDER 0)", "WITH (MODULUS 2, REMAINDER 1)"],
    ]

    @Test(
        "The statements that find and write rows are planned for the list's partition alone",
        arguments: kinds.keys.sorted(),
        ["team, board, id", "id, team, board"])
    func plan(kind: String, key: String) async throws {
        let connection = try await TestDatabase.current.connect()
        let bounds = try #require(Self.kinds[kind])
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id bigint, team text, board int, PRIMARY KEY (\(key))) PARTITION BY \(kind);
                CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES \(bounds[0]);
                CREATE TABLE tasks_2 PARTITION OF tasks FOR VALUES \(bounds[1]);
                """)
        let names = OrderNames(schema: "public", table: "tasks")
        try await attach(
            OrderDefinition(names: names, listColumns: ["team", "board"], itemColumn: "id"), on: connection)
        let condition: String = try await connection.query(
            #"SELECT brocot.is_at_place(brocot.order_shape('public.tasks'), brocot.list_key('it''s \', '1'))"#
        ).single().decode(0)
        let plan = try await connection.query(
            """
            EXPLAIN UPDATE tasks AS stored SET rank = NULL
            FROM unnest('{}'::tid[], '{}'::oid[]) AS moved (place, relation) WHERE \(unsafeRaw: condition)
            """
        ).map { try $0.decode(0, as: String.self) }.joined(separator: "\n")
        #expect(plan.contains("TID Cond: "), "\(plan)")
        #expect(plan.contains("tasks_1") != plan.contains("tasks_2"), "\(plan)")
        let lookUp: String = try await connection.query(
            "SELECT look_up FROM brocot.order_shape('public.tasks')"
        ).single().decode(0)
        let search = try await connection.query(
            "EXPLAIN SELECT FROM (SELECT \(7 as Int64) AS key) AS moved CROSS JOIN LATERAL (\(unsafeRaw: lookUp.replacing("$1", with: #"'["it''s", 1]'"#))) AS found"
        ).map { try $0.decode(0, as: String.self) }.joined(separator: "\n")
        #expect(search.contains("tasks_1") != search.contains("tasks_2"), "\(search)")
    }

    @Test("A table with more than 100 partitions has no functions whose plans a session keeps", arguments: [100, 101])
    func placeFunctions(partitions: Int) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id bigint, board int, PRIMARY KEY (board, id)) PARTITION BY HASH (board);
                DO $$ BEGIN FOR number IN 1..\(partitions) LOOP
                    EXECUTE format(
                        'CREATE TABLE tasks_%1$s PARTITION OF tasks FOR VALUES WITH (MODULUS 101, REMAINDER %2$s)', number, number - 1);
                END LOOP; END $$;
                """)
        let names = OrderNames(schema: "public", table: "tasks")
        try await attach(OrderDefinition(names: names, listColumns: ["board"], itemColumn: "id"), on: connection)
        let function: String? = try await connection.query(
            "SELECT place_function FROM brocot.ordered_tables WHERE name = 'public.tasks'"
        ).single().decode(0)
        #expect((function == nil) == (partitions > 100))
    }
}
