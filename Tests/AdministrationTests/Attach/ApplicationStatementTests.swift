import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Administration

/// The exceptions that docs/your-own-tables.md names below "Inserting, updating and deleting rows".
@Suite("Statements of an application on an attached table", .databaseWithAttachedTasks, .usualTimeLimit)
struct ApplicationStatementTests {
    /// The SQLSTATE with which a script fails.
    private func state(of script: String, on connection: Connection) async -> String? {
        await connection.refusal(ofScript: script)?.sqlState?.rawValue
    }

    @Test(
        "An INSERT with the rank of another row of the list fails with 23505, and one whose rank columns don't agree with 23514",
        arguments: [
            ("rank_num, rank_den, rank) VALUES (1, 1, 1, 1", "23505"),
            ("rank_num, rank_den, rank) VALUES (1, 15, 2, 7", "23514"),
            ("rank_num, rank_den, rank) VALUES (1, 0, 0, 0", "23514"), ("rank) VALUES (1, 7", "23514"),
        ])
    func givenRank(columns: String, expected: String) async throws {
        let fixture = try await AttachFixture()
        let found = await state(of: "INSERT INTO tasks (project_id, \(columns))", on: fixture.connection)
        #expect(found == expected)
    }

    @Test(
        "In a REPEATABLE READ transaction, an UPDATE or DELETE of a row that was moved since it began fails with 40001",
        arguments: ["UPDATE tasks SET title = 'z'", "DELETE FROM tasks"])
    func movedMeanwhile(statement: String) async throws {
        let fixture = try await AttachFixture()
        let application = try await TestDatabase.current.connect()
        try await application.execute(script: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM tasks")
        try await fixture.connection.execute(
            "SELECT brocot.move_now(1, 4, first => true, ordered_table => 'public.tasks')")
        #expect(await state(of: "\(statement) WHERE id = 4", on: application) == "40001")
        try await application.execute(script: "ROLLBACK; \(statement) WHERE id = 4")
    }

    @Test(
        "With --arrive-now, an INSERT and a change of list fail with 0A000 after a rule ON UPDATE was made",
        arguments: ["INSERT INTO tasks (project_id) VALUES (1)", "UPDATE tasks SET project_id = 2 WHERE id = 1"])
    func ruleOnUpdate(statement: String) async throws {
        let fixture = try await AttachFixture()
        try await fixture.attach(AttachFixture.definition(arriveNow: true), mayChangeOptions: true)
        try await fixture.connection.execute("CREATE RULE told AS ON UPDATE TO tasks DO ALSO NOTIFY tasks")
        #expect(await state(of: statement, on: fixture.connection) == "0A000")
    }

    @Test(
        "The type of a list column can't be changed, and no column of the order can be dropped without CASCADE",
        arguments: [
            ("ALTER COLUMN project_id TYPE text", "0A000"), ("DROP COLUMN project_id", "2BP01"),
            ("DROP COLUMN rank", "2BP01"), ("DROP COLUMN rank_num", "2BP01"), ("DROP COLUMN rank_den", "2BP01"),
        ])
    func changeOfColumn(change: String, expected: String) async throws {
        let fixture = try await AttachFixture()
        #expect(await state(of: "ALTER TABLE tasks \(change)", on: fixture.connection) == expected)
    }

    @Test("ATTACH PARTITION of a table that is attached itself fails with 42710, and succeeds after detach")
    func attachedPartition() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(
            script: """
                CREATE TABLE all_tasks (id bigint, project_id bigint, title text, PRIMARY KEY (project_id, id))
                    PARTITION BY LIST (project_id);
                CREATE TABLE tasks_7 (id bigint, project_id bigint, title text, PRIMARY KEY (project_id, id));
                """)
        try await fixture.attach(AttachFixture.definition(table: "all_tasks"))
        let partition = AttachFixture.definition(table: "tasks_7")
        try await fixture.attach(partition)
        let statement = "ALTER TABLE all_tasks ATTACH PARTITION tasks_7 FOR VALUES IN (7)"
        #expect(await state(of: statement, on: fixture.connection) == "42710")
        let constraint = try await fixture.texts(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'brocot_rank_is_valid' LIMIT 1")[0]
        try await fixture.detach(partition, droppingColumns: false)
        let withoutQuotes = constraint.dropFirst().dropLast().replacing("\"\"", with: "\"")
        try await fixture.connection.execute(
            script: "ALTER TABLE tasks_7 ADD CONSTRAINT brocot_rank_is_valid \(withoutQuotes); \(statement)")
    }

    @Test("An INSERT of values without a list of columns still works, and a COPY without one fails with 22P04")
    func withoutColumns() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute("INSERT INTO tasks VALUES (8, 1, 'new')")
        for (columns, expected) in [("", "22P04"), (" (id, project_id, title)", nil)] {
            let refusal = await refusal {
                try await fixture.connection.run { connection in
                    _ = try connection.copyIn("COPY tasks\(columns) FROM STDIN", rows: [["9", "1", "new"]])
                }
            }
            #expect(refusal.map { $0.contains("missing data for column \"rank\"") } == expected.map { _ in true })
        }
        #expect(try await fixture.requests() == ["public.tasks 1 {8} arrive", "public.tasks 1 {9} arrive"])
    }

    /// Statements that depend on the number of columns, and the SQLSTATE with which they fail after `brocot attach`.
    private static let countingStatements = [
        ("INSERT INTO archive SELECT * FROM tasks", "42601"),
        ("SELECT * FROM archive UNION SELECT * FROM tasks", "42601"),
        ("DELETE FROM tasks", "42601"),
        ("SELECT * FROM listed_by_sql()", "42P13"),
        ("SELECT * FROM listed_by_plpgsql()", "42804"),
        ("SELECT rank FROM tasks, (VALUES (1)) AS other (rank)", "42702"),
    ]

    @Test(
        "Statements that rely on the number of columns, or name another rank without its table, fail after brocot attach",
        .database)
    func numberOfColumns() async throws {
        let fixture = try await AttachFixture(
            """
            \(AttachFixture.tasks)
            CREATE TABLE archive (id bigint, project_id bigint, title text);
            CREATE FUNCTION archive() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO archive SELECT OLD.*; RETURN NULL; END $$;
            CREATE TRIGGER archive AFTER DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION archive();
            CREATE FUNCTION listed_by_sql() RETURNS SETOF tasks LANGUAGE sql AS 'SELECT id, project_id, title FROM tasks';
            CREATE FUNCTION listed_by_plpgsql() RETURNS SETOF tasks LANGUAGE plpgsql AS
                'BEGIN RETURN QUERY SELECT id, project_id, title FROM tasks; END';
            """)
        let connection = fixture.connection
        for (statement, _) in Self.countingStatements {
            try await connection.execute(script: "BEGIN; \(statement); ROLLBACK")
        }
        try await fixture.attach()
        // A session that has called a function before may still use the former columns.
        let later = try await TestDatabase.current.connect()
        for (statement, expected) in Self.countingStatements {
            #expect(await state(of: statement, on: later) == expected, "\(statement)")
        }
    }

    @Test(
        "A SELECT * that was prepared before brocot attach fails until DEALLOCATE ALL, and another statement goes on",
        .database)
    func preparedBefore() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        let application = try await TestDatabase.current.connect()
        try await application.execute(
            script: """
                PREPARE every AS SELECT * FROM tasks; PREPARE named AS SELECT id, project_id FROM tasks;
                EXECUTE every; EXECUTE named
                """)
        try await fixture.attach()
        let refusal = await refusal { try await application.execute(script: "EXECUTE every") }
        #expect(refusal?.contains("cached plan must not change result type") == true, "\(refusal ?? "")")
        try await application.execute(
            script: "EXECUTE named; DEALLOCATE ALL; PREPARE every AS SELECT * FROM tasks; EXECUTE every")
    }

    @Test(
        "After ALTER TYPE … RENAME VALUE, pending requests with the former label are rejected, and a repair places new rows",
        .database)
    func renamedLabel() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TYPE state AS ENUM ('todo', 'done'); CREATE TABLE tasks (id int PRIMARY KEY, state state);
            INSERT INTO tasks VALUES (1, 'todo'), (2, 'todo');
            """)
        try await fixture.attach(AttachFixture.definition(lists: ["state"]))
        try await fixture.connection.execute(
            script: """
                INSERT INTO tasks VALUES (3, 'todo');
                SELECT brocot.move('todo', 2, first => true, ordered_table => 'public.tasks');
                ALTER TYPE state RENAME VALUE 'todo' TO 'open';
                SELECT brocot.apply_pending();
                """)
        #expect(
            try await fixture.texts("SELECT error_code FROM brocot.move_log ORDER BY id")
                == ["invalid_key", "invalid_key"])
        #expect(try await fixture.order() == ["1", "2"])
        try await fixture.repairAsRegistered(placingRows: true)
        try await fixture.connection.execute("SELECT brocot.apply_pending()")
        #expect(try await fixture.order() == ["1", "2", "3"])
    }
}
