import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

/// The same damage in every shape of an order that can be registered.
@Suite("brocot check --repair for every kind of order", .database, .usualTimeLimit) struct RepairedShapeTests {
    /// A table with five rows in one list, and its order.
    struct Shape: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let script: String
        let definition: OrderDefinition
        var index: String { definition.names.index(on: "tasks") }
    }

    private static let rows = "INSERT INTO tasks (id, project_id) SELECT n, 1 FROM generate_series(1, 5) AS n;"

    static let shapes = [
        Shape(
            testDescription: "a table that is one list",
            script: "CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint); \(rows)",
            definition: AttachFixture.definition(lists: [])),
        Shape(
            testDescription: "lists of two columns",
            script: "CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint, state text DEFAULT 'open'); \(rows)",
            definition: AttachFixture.definition(lists: ["project_id", "state"])),
        Shape(
            testDescription: "a join table whose rows moves insert and delete",
            script: "CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (project_id, id)); \(rows)",
            definition: AttachFixture.definition(ownsRows: true)),
        Shape(
            testDescription: "a table with hidden rows",
            script: """
                CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint, hidden boolean); \(rows)
                UPDATE tasks SET hidden = id = 4
                """,
            definition: AttachFixture.definition(visible: "hidden IS NOT TRUE")),
        Shape(
            testDescription: "a second order of the same rows",
            script: "CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint); \(rows)",
            definition: AttachFixture.definition(rank: "other")),
        Shape(
            testDescription: "a table whose new rows come first",
            script: "CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint); \(rows)",
            definition: AttachFixture.definition(arrive: .first)),
        Shape(
            testDescription: "a table whose new rows are left without a place",
            script: "CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint); \(rows)",
            definition: AttachFixture.definition(arrive: .none)),
        Shape(
            testDescription: "a table whose new rows are placed at once",
            script: "CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint); \(rows)",
            definition: AttachFixture.definition(arriveNow: true)),
        Shape(
            testDescription: "a partitioned table",
            script: """
                CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (project_id, id)) PARTITION BY LIST (project_id);
                CREATE TABLE tasks_of_1 PARTITION OF tasks FOR VALUES IN (1);
                CREATE TABLE other_tasks PARTITION OF tasks DEFAULT; \(rows)
                """, definition: AttachFixture.definition()),
        Shape(
            testDescription: "keys with hostile names",
            script: """
                CREATE TABLE tasks ("Id; --" bigint PRIMARY KEY, "a ""list" bigint);
                INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 5) AS n;
                """, definition: AttachFixture.definition(lists: ["a \"list"], item: "Id; --")),
    ]

    /// Damaged ranks and missing objects are tried in one database, because attaching a table takes longer than
    /// repairing it.
    @Test(
        "brocot check --repair corrects wrong ranks, keeps the order of the rows, and makes what is missing again",
        arguments: shapes)
    func repairs(shape: Shape) async throws {
        let fixture = try await attached(shape)
        try await ranks(shape, fixture)
        try await structure(shape, fixture)
    }

    private func ranks(_ shape: Shape, _ fixture: AttachFixture) async throws {
        let names = shape.definition.names
        let item = quoteIdentifier(shape.definition.itemColumn)
        try await damage(
            fixture,
            """
            ALTER TABLE tasks DROP CONSTRAINT \(quoteIdentifier(names.constraint));
            ALTER TABLE tasks DISABLE TRIGGER USER;
            UPDATE tasks SET \(names.numerator) = 2 * \(names.numerator), \(names.denominator) = 2 * \(names.denominator)
            WHERE \(item) = 3;
            UPDATE tasks SET \(names.rank) = \(names.rank) + 0.125 WHERE \(item) = 2
            """)
        let found = try await repair(shape, fixture)
        #expect(found.damagedRows == 2)
        #expect(try await order(shape, fixture) == ["1", "2", "3", "4", "5"], "after wrong ranks")
    }

    private func structure(_ shape: Shape, _ fixture: AttachFixture) async throws {
        let names = shape.definition.names
        try await damage(
            fixture,
            """
            DROP INDEX \(quoteIdentifier(shape.index)) CASCADE;
            DROP FUNCTION brocot.\(quoteIdentifier(names.keepFunction)) CASCADE
            """)
        let found = try await repair(shape, fixture)
        #expect(!found.missing.isEmpty)
        #expect(try await order(shape, fixture) == ["1", "2", "3", "4", "5"], "after missing objects")
        // What was made anew works: an UPDATE by others changes no rank.
        try await fixture.connection.execute(
            script: "UPDATE tasks SET \(names.rank) = 99, \(names.numerator) = 99, \(names.denominator) = 1")
        #expect(try await order(shape, fixture) == ["1", "2", "3", "4", "5"], "after an UPDATE by others")
    }

    private func attached(_ shape: Shape) async throws -> AttachFixture {
        let fixture = try await AttachFixture(shape.script)
        try await fixture.attach(shape.definition, orderBy: quoteIdentifier(shape.definition.itemColumn))
        #expect(try await order(shape, fixture) == ["1", "2", "3", "4", "5"])
        return fixture
    }

    private func damage(_ fixture: AttachFixture, _ script: String) async throws {
        try await fixture.connection.execute(script: script)
    }

    /// Repairs the order by its registry row: see ``AttachFixture/repairAsRegistered(_:placingRows:)``.
    private func repair(_ shape: Shape, _ fixture: AttachFixture) async throws -> CheckedTable {
        try #require(try await fixture.repairAsRegistered(shape.definition.names.orderedTable).checkedTable)
    }

    private func order(_ shape: Shape, _ fixture: AttachFixture) async throws -> [String] {
        let (item, rank) = (quoteIdentifier(shape.definition.itemColumn), shape.definition.names.rank)
        return try await fixture.texts("SELECT \(item) FROM tasks WHERE \(rank) IS NOT NULL ORDER BY \(rank)")
    }
}
