import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("brocot detach", .database, .usualTimeLimit) struct DetachTests {
    @Test("brocot detach continues after it stopped before any of its steps", arguments: 0..<5)
    func continues(finishedSteps: Int) async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        let before = try await fixture.catalog()
        try await fixture.attach()
        let plan = try #require(
            try await fixture.attacher.planToDetach(AttachFixture.definition().names, droppingColumns: true))
        #expect(plan.steps.count == 5)
        for step in plan.steps.prefix(finishedSteps) {
            try await fixture.attacher.run(step, on: AttachFixture.definition().names)
        }
        try await fixture.detach()
        #expect(try await fixture.catalog() == before)
    }

    @Test(
        "brocot detach keeps the columns only if brocot attach has placed all rows, because the order of the others would be lost"
    )
    func unfinishedAttach() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
                CREATE TRIGGER refuse BEFORE UPDATE ON tasks FOR EACH ROW WHEN (OLD.title = 'x') EXECUTE FUNCTION refuse()
                """)
        await #expect(throws: AttachError.self) { try await fixture.attach(orderBy: "title DESC") }
        let reason = try #require(await refusal { try await fixture.detach(droppingColumns: false) })
        #expect(
            reason.contains("brocot attach is not finished") && reason.hasSuffix("Nothing was changed."), "\(reason)")
        // Under another name, the order of the rows would be forgotten too.
        try await fixture.connection.execute("ALTER TABLE tasks RENAME TO jobs")
        let otherName = try #require(
            await refusal { try await fixture.attach(AttachFixture.definition(table: "jobs"), orderBy: "title DESC") })
        #expect(
            otherName.hasPrefix(
                "public.jobs had the name public.tasks, and brocot attach under that name is not finished."),
            "\(otherName)")
        let formerName = try #require(await refusal { try await fixture.attach(orderBy: "title DESC") })
        #expect(formerName.hasSuffix("is public.jobs now"), "\(formerName)")
        let renamed = try #require(await refusal { try await fixture.detach(droppingColumns: false) })
        #expect(renamed.contains("Rename the table back"), "\(renamed)")
        try await fixture.connection.execute("ALTER TABLE jobs RENAME TO tasks")
        try await fixture.detach(droppingColumns: true)
        try await fixture.connection.execute("DROP TRIGGER refuse ON tasks")
        try await fixture.attach(orderBy: "title DESC")
        #expect(
            try await fixture.texts("SELECT string_agg(title, ' ' ORDER BY rank) FROM tasks WHERE project_id = 1")
                == ["\"c b a\""])
    }

    @Test(
        "Moves at once are refused as soon as brocot detach --drop-columns has dropped the columns",
        .databaseWithAttachedTasks)
    func movesMeanwhile() async throws {
        let fixture = try await AttachFixture()
        let names = AttachFixture.definition().names
        let plan = try #require(try await fixture.attacher.planToDetach(names, droppingColumns: true))
        var states: [String?] = []
        for step in plan.steps {
            try await fixture.attacher.run(step, on: names)
            let error = await refusedMove(fixture)
            states.append(error?.sqlState?.rawValue)
        }
        #expect(states == [nil, nil, "55000", "55000", "RK001"])
    }

    private func refusedMove(_ fixture: AttachFixture) async -> PostgresError? {
        await fixture.connection.refusal(
            of: "SELECT brocot.move_now(1, 1, last => true, ordered_table => 'public.tasks')")
    }

    @Test(
        "brocot detach --drop-columns changes nothing if something else uses a rank column", .databaseWithAttachedTasks,
        arguments: [
            (
                "ALTER TABLE tasks ADD COLUMN doubled numeric GENERATED ALWAYS AS (rank * 2) STORED",
                "column doubled of table public.tasks"
            ),
            (
                """
                CREATE UNIQUE INDEX ranks ON tasks (project_id, rank);
                CREATE TABLE marks (project bigint, rank numeric, FOREIGN KEY (project, rank) REFERENCES tasks (project_id, rank))
                """, "constraint marks_project_rank_fkey on table public.marks"
            ),
            ("CREATE VIEW ranked AS SELECT rank FROM tasks", "view public.ranked"),
            (
                """
                CREATE TRIGGER looks BEFORE UPDATE OF rank ON tasks FOR EACH ROW
                EXECUTE FUNCTION suppress_redundant_updates_trigger()
                """, "trigger looks on table public.tasks"
            ),
        ]) func dependents(script: String, name: String) async throws
    {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(script: script)
        let before = try await fixture.catalog()
        let reason = try #require(await refusal { try await fixture.detach() })
        #expect(
            reason.contains("\(name) uses the rank columns") && reason.hasSuffix("Nothing was changed."), "\(reason)")
        #expect(try await fixture.catalog() == before)
        try await fixture.detach(droppingColumns: false)
    }

    @Test(
        "brocot detach changes nothing if a trigger on another table calls a function of the order",
        arguments: [("arrive", false), ("arrive", true), ("keep", true)])
    func triggerElsewhere(function: String, isTableDropped: Bool) async throws {
        let fixture = try await AttachFixture("\(AttachFixture.tasks) CREATE TABLE notes (id int);")
        try await fixture.attach()
        try await fixture.connection.execute(
            script: """
                CREATE TRIGGER mine AFTER INSERT ON notes EXECUTE FUNCTION brocot."\(function)_public.tasks"();
                \(isTableDropped ? "DROP TABLE tasks" : "")
                """)
        let tables = isTableDropped ? ["notes"] : ["notes", "tasks"]
        let before = try await fixture.catalog(of: tables)
        let reason = try #require(await refusal { try await fixture.detach() })
        #expect(
            reason.contains(
                "trigger mine on public.notes calls a function of the order public.tasks. Drop it: DROP TRIGGER \"mine\" ON"
            ))
        #expect(try await fixture.catalog(of: tables) == before)
        try await fixture.connection.execute(script: "DROP TRIGGER mine ON notes")
        try await fixture.detach()
        #expect(try await fixture.texts("SELECT name FROM brocot.ordered_tables") == ["items"])
    }

    @Test("brocot detach --drop-columns changes nothing if something else uses a rank column of a partition")
    func dependentsOfPartitions() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (project_id, id)) PARTITION BY LIST (project_id);
            CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1);
            """)
        let before = try await fixture.catalog()
        try await fixture.attach()
        try await fixture.connection.execute(script: "CREATE VIEW ranked AS SELECT rank FROM tasks_1")
        let attached = try await fixture.catalog(of: ["tasks", "tasks_1"])
        let reason = try #require(await refusal { try await fixture.detach() })
        #expect(reason.contains("view public.ranked uses") && reason.hasSuffix("Nothing was changed."), "\(reason)")
        #expect(try await fixture.catalog(of: ["tasks", "tasks_1"]) == attached)
        try await fixture.connection.execute(script: "DROP VIEW ranked")
        try await fixture.detach()
        #expect(try await fixture.catalog() == before)
    }

    @Test(
        "brocot detach --drop-columns drops the columns along with indexes, CHECKs and keys of the table itself",
        .databaseWithAttachedTasks)
    func ownObjects() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(
            script: """
                CREATE INDEX ranks ON tasks (rank); ALTER TABLE tasks ADD CHECK (rank < 1000), ADD CHECK (rank < id + 1000);
                CREATE TABLE ends (rank numeric PRIMARY KEY); INSERT INTO ends VALUES (0), (1), (2);
                ALTER TABLE tasks ADD FOREIGN KEY (rank) REFERENCES ends;
                """)
        try await fixture.detach()
        #expect(
            try await fixture.texts(
                "SELECT count(*) FROM pg_attribute WHERE attname = 'rank' AND attrelid = 'tasks'::regclass") == ["0"])
    }

    @Test("A table that became a partition can be detached; its inherited columns stay") func partition() async throws {
        let fixture = try await AttachFixture(
            "CREATE TABLE tasks (project_id bigint NOT NULL, id bigint NOT NULL, PRIMARY KEY (project_id, id)); INSERT INTO tasks VALUES (1, 1)"
        )
        try await fixture.attach()
        try await fixture.connection.execute(
            script: """
                CREATE TABLE all_tasks (project_id bigint NOT NULL, id bigint NOT NULL, rank numeric, rank_num bigint, rank_den bigint)
                PARTITION BY LIST (project_id);
                ALTER TABLE all_tasks ATTACH PARTITION tasks FOR VALUES IN (1);
                """)
        let reason = try #require(await refusal { try await fixture.detach() })
        #expect(
            reason.contains("table public.all_tasks") && reason.contains("or leave out --drop-columns"), "\(reason)")
        try await fixture.detach(droppingColumns: false)
        #expect(try await fixture.texts("SELECT count(*) FROM pg_trigger WHERE tgrelid = 'tasks'::regclass") == ["0"])
        #expect(try await fixture.texts("SELECT count(*) FROM pg_index WHERE indrelid = 'tasks'::regclass") == ["1"])
    }

    @Test(
        "brocot check tells the present name of a renamed table, and detach works also without the constraint",
        .databaseWithAttachedTasks)
    func renamed() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(
            script: "ALTER TABLE tasks RENAME TO jobs; ALTER TABLE jobs DROP CONSTRAINT brocot_rank_is_valid")
        let found = try await fixture.findings()
        #expect(
            found.lines() == [
                """
                the table is now public.jobs. Rename it back, or run: brocot detach public.tasks, and attach public.jobs. The order stays.
                """
            ])
        try await fixture.detach()
        #expect(try await fixture.texts("SELECT count(*) FROM pg_trigger WHERE tgrelid = 'jobs'::regclass") == ["0"])
    }

    @Test(
        "brocot check advises no command that can't be run for the present name of a renamed table",
        .databaseWithAttachedTasks,
        arguments: [
            (
                "CREATE SCHEMA \"My.S\"; ALTER TABLE tasks SET SCHEMA \"My.S\"",
                "the table is now My.S.tasks, and a name with a dot can't be attached. Rename it back."
            ),
            (
                "ALTER TABLE tasks RENAME TO \"my tasks\"",
                """
                the table is now public.my tasks. Rename it back, or run: brocot detach public.tasks, and attach 'public.my tasks'. \
                The order stays.
                """
            ),
        ]) func presentName(change: String, reason: String) async throws
    {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(script: change)
        #expect(try await fixture.findings().lines() == [reason])
    }

    @Test(
        "If a replaced table was attached, detach, check and doctor name the former one as long as it has the triggers too",
        .databaseWithAttachedTasks
    )
    func replaced() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(
            script: """
                ALTER TABLE tasks RENAME TO tasks_old; CREATE TABLE tasks (LIKE tasks_old INCLUDING ALL);
                INSERT INTO tasks SELECT * FROM tasks_old; ALTER INDEX brocot_tasks_rank RENAME TO brocot_tasks_old_rank;
                """)
        try await fixture.attach()
        let before = try await fixture.catalog()
        let advice = """
            Drop public.tasks_old, or give it an order of its own and remove that: brocot attach public.tasks_old with the same options, \
            and then brocot detach public.tasks_old
            """
        #expect(
            await refusal { try await fixture.detach() } == """
                public.tasks_old has the triggers of public.tasks too, which use the same functions. \(advice). Then run this command again. \
                Nothing was changed.
                """)
        let found = try await fixture.findings()
        let copiedIndex = "tasks_project_id_rank_idx"
        #expect(
            found.lines() == [
                """
                index public.\(copiedIndex) is a second one on list and rank. DROP INDEX CONCURRENTLY "public"."\(copiedIndex)";
                """, "public.tasks_old has the triggers of this order too. \(advice).",
            ])
        #expect(found.needsPerson && !found.areRight && !found.isRepairable)
        let definition = AttachFixture.definition()
        let table = try await fixture.attacher.describe(definition.names, listColumns: definition.listColumns)
        #expect(OrderFaults(of: definition, on: table).all.map(\.text) == found.lines())
        #expect(try await fixture.catalog() == before)
        let old = AttachFixture.definition(table: "tasks_old")
        try await fixture.attach(old)
        try await fixture.detach(old, droppingColumns: false)
        try await fixture.connection.execute("DROP INDEX \(identifier: copiedIndex)")
        #expect(try await fixture.findings().areRight)
        try await fixture.detach()
        #expect(try await fixture.texts("SELECT name FROM brocot.ordered_tables") == ["items"])
    }

    @Test("An order that is attached again has no lists that wait, and no rows to place, of the former order")
    func attachedAgain() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        _ = try await fixture.prepare(AttachFixture.definition())
        try await fixture.connection.execute(
            script: """
                INSERT INTO brocot.rows_to_place
                SELECT 'public.tasks', id, ARRAY[project_id::text], id::text, id FROM tasks WHERE project_id IS NOT NULL;
                INSERT INTO brocot.held_lists (ordered_table, list, paused_at) VALUES ('public.tasks', '1', now())
                """)
        try await fixture.detach()
        try await fixture.attach(orderBy: "title DESC")
        let order = try await fixture.texts("SELECT title FROM tasks WHERE project_id = 1 ORDER BY rank")
        #expect(order == ["c", "b", "a"])
        #expect(try await fixture.texts("SELECT list FROM brocot.held_lists") == [])
    }

    @Test(
        "A role that does not own the table is told how the owner runs its part of brocot detach",
        .databaseWithAttachedTasks) func otherRole()
        async throws
    {
        let fixture = try await AttachFixture()
        let before = try await fixture.catalog()
        let reason = try await fixture.asOtherRole {
            await refusal { try await fixture.detach(droppingColumns: false) }
        }
        #expect(
            reason?.contains("let the owner run its part of brocot detach --dry-run. Nothing was changed.") == true,
            "\(reason ?? "")")
        #expect(try await fixture.catalog() == before)
    }

    @Test(
        "Commands in messages are quoted for a shell",
        arguments: [
            (OrderNames(schema: "public", table: "tasks"), "brocot detach public.tasks"),
            (OrderNames(schema: "my app", table: "it's"), #"brocot detach 'my app.it'\''s'"#),
            (OrderNames(schema: "a", table: "b$c", rank: "r$$"), "brocot detach 'a.b$c' --rank 'r$$'"),
        ]) func commands(names: OrderNames, command: String)
    {
        #expect(names.detachCommand == command)
    }
}
