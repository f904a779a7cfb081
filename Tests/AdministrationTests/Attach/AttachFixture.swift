import LibPQ
import Ordering
import TestPostgres

@testable import Administration

/// A test's database with user tables, which are attached like by `brocot attach`.
struct AttachFixture {
    let connection: Connection

    /// Runs these statements first.
    init(_ script: String) async throws {
        connection = try await TestDatabase.current.connect()
        try await connection.execute(script: script)
    }

    /// The tables of ``DatabaseTrait/databaseWithAttachedTasks``.
    init() async throws { connection = try await TestDatabase.current.connect() }

    /// A table with tasks of projects. Each task has a title.
    static let tasks = AttachedTasks.script

    /// Tasks in two partitions: project 1 in `tasks_1`, and project 2 in `tasks_2`.
    static let partitionedTasks = """
        CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (project_id, id)) PARTITION BY LIST (project_id);
        CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1);
        CREATE TABLE tasks_2 PARTITION OF tasks FOR VALUES IN (2);
        """

    static func definition(
        table: String = "tasks", rank: String = "rank", lists: [String] = ["project_id"], item: String = "id",
        ownsRows: Bool = false, visible: String? = nil, arrive: OrderDefinition.Arrival = .last,
        arriveNow: Bool = false
    ) -> OrderDefinition {
        OrderDefinition(
            names: OrderNames(schema: "public", table: table, rank: rank), listColumns: lists, itemColumn: item,
            ownsRows: ownsRows, visible: visible, arrive: arrive, arriveNow: arriveNow)
    }

    var attacher: Attacher { Attacher(connection: connection, logger: .silent) }

    /// Attaches the table, and returns how many steps there were.
    @discardableResult
    func attach(
        _ definition: OrderDefinition = definition(), orderBy: String? = nil, placingAllRows: Bool = false,
        mayChangeOptions: Bool = false
    ) async throws -> Int {
        try await Attachment(
            definition, orderedBy: orderBy, placingAllRows: placingAllRows, mayChangeOptions: mayChangeOptions,
            connection: connection, logger: .silent
        ).run().steps.count
    }

    /// Runs all steps, but does not place the rows.
    func prepare(_ definition: OrderDefinition) async throws -> AttachPlan {
        let plan = try await attacher.plan(definition)
        try await attacher.run(plan)
        return plan
    }

    func detach(_ definition: OrderDefinition = definition(), droppingColumns: Bool = true) async throws {
        try await Detachment(
            definition.names, droppingColumns: droppingColumns, connection: connection, logger: .silent
        ).run()
    }

    /// The first column of the rows as text, NULL as a dash.
    func texts(_ statement: String) async throws -> [String] {
        try await connection.query(
            SQL(unsafeRaw: "SELECT coalesce((row.*)::text, '-') FROM (\(statement)) AS row (value)")
        )
        .map { String(try $0.decode(0, as: String.self).dropFirst().dropLast()) }
    }

    /// The pending requests in the order of their ids: list, items and placement.
    func requests() async throws -> [String] {
        try await connection.query(
            """
            SELECT ordered_table || ' ' || list || ' ' || items::text || ' ' || placement
            FROM brocot.move_requests ORDER BY id
            """
        ).map { try $0.decode(0) }
    }

    /// Runs `body` while the session has a role that may read the registry, and owns nothing.
    func asOtherRole<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await TestRole.with("other", owner: connection) { role in
            try await connection.execute(
                script: """
                    GRANT USAGE ON SCHEMA brocot TO \(role.name); GRANT SELECT ON brocot.ordered_tables TO \(role.name);
                    SET ROLE \(role.name)
                    """)
            return try await body()
        }
    }

    /// The columns, constraints, indexes and triggers of the tables, Brocot's trigger functions, and the registered
    /// orders.
    func catalog(of tables: [String] = ["tasks"]) async throws -> [String] {
        try await connection.query(
            """
            SELECT concat_ws(' ', attname, atttypid::regtype, attnotnull) FROM pg_attribute
            WHERE attrelid = ANY (\(tables)::regclass[]) AND attnum > 0 AND NOT attisdropped
            UNION ALL SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = ANY (\(tables)::regclass[])
            UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = ANY (\(tables)::regclass[])
            UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = ANY (\(tables)::regclass[])
            UNION ALL SELECT oid::regprocedure::text FROM pg_proc
                WHERE pronamespace = 'brocot'::regnamespace AND prorettype = 'trigger'::regtype
            UNION ALL SELECT name FROM brocot.ordered_tables
            ORDER BY 1
            """
        ).map { try $0.decode(0) }
    }
}
