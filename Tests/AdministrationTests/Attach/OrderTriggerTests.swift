import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Triggers of an attached table", .database, .usualTimeLimit) struct OrderTriggerTests {
    private func attached(_ definition: OrderDefinition = AttachFixture.definition()) async throws -> AttachFixture {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach(definition, orderBy: "title")
        return fixture
    }

    @Test("The rows of one INSERT into an attached table become one request for each list, in their order")
    func insert() async throws {
        let fixture = try await attached()
        try await fixture.connection.execute(
            script: """
                INSERT INTO tasks (id, project_id, title)
                VALUES (19, 1, 'p'), (12, 2, 'q'), (11, 1, 'r'), (13, NULL, 's'), (10, 1, 't')
                """)
        #expect(try await fixture.requests() == ["public.tasks 1 {19,11,10} arrive", "public.tasks 2 {12} arrive"])
    }

    @Test(
        "An INSERT of 25,000 rows becomes three requests, the last rows first if rows arrive first",
        arguments: [(OrderDefinition.Arrival.last, "1 10001 20001"), (.first, "20001 10001 1")])
    func chunks(arrive: OrderDefinition.Arrival, firsts: String) async throws {
        let fixture = try await AttachFixture("CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)")
        try await fixture.attach(AttachFixture.definition(arrive: arrive))
        try await fixture.connection.execute(
            script: "INSERT INTO tasks SELECT n, 7 FROM generate_series(1, 25000) AS n")
        #expect(
            try await fixture.texts("SELECT string_agg(items[1], ' ' ORDER BY id) FROM brocot.move_requests")
                == ["\"\(firsts)\""])
        #expect(try await fixture.texts("SELECT sum(cardinality(items)) FROM brocot.move_requests") == ["25000"])
    }

    @Test("An INSERT of 25,000 rows of two lists in turns becomes as many requests as each list needs")
    func chunksOfLists() async throws {
        let fixture = try await AttachFixture("CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)")
        try await fixture.attach(AttachFixture.definition())
        try await fixture.connection.execute(
            script: "INSERT INTO tasks SELECT n, n % 2 FROM generate_series(1, 25000) AS n")
        #expect(
            try await fixture.texts(
                "SELECT list || ' ' || items[1] || ' ' || cardinality(items) FROM brocot.move_requests ORDER BY id")
                == ["1 1 10000", "0 2 10000", "1 20001 2500", "0 20002 2500"].map { "\"\($0)\"" })
    }

    @Test(
        "An INSERT or UPDATE of a row without an item succeeds if somebody has dropped the NOT NULL of the item's column",
        arguments: ["int", "uuid", "text"], [false, true])
    func noItem(type: String, arriveNow: Bool) async throws {
        let fixture = try await AttachFixture("CREATE TABLE tasks (id \(type) PRIMARY KEY, project_id int)")
        try await fixture.attach(AttachFixture.definition(arriveNow: arriveNow))
        let id = type == "uuid" ? "00000000-0000-0000-0000-000000000001" : "1"
        try await fixture.connection.execute(
            script: """
                ALTER TABLE tasks DROP CONSTRAINT tasks_pkey, ALTER COLUMN id DROP NOT NULL;
                INSERT INTO tasks VALUES ('\(id)', 1), (NULL, 1);
                INSERT INTO tasks VALUES (NULL, 1);
                UPDATE tasks SET project_id = 2 WHERE id IS NULL;
                """)
        #expect(try await fixture.requests() == (arriveNow ? [] : ["public.tasks 1 {\(id)} arrive"]))
    }

    @Test("A new row causes no request if rows arrive nowhere") func arriveNone() async throws {
        let fixture = try await attached(AttachFixture.definition(arrive: .none))
        try await fixture.connection.execute(
            script: "INSERT INTO tasks (project_id) VALUES (1); UPDATE tasks SET project_id = 2 WHERE title = 'a'")
        #expect(try await fixture.requests() == [])
    }

    @Test("COPY, an INSERT in a function, and an upsert cause requests for the inserted rows")
    func otherInserts() async throws {
        let fixture = try await attached()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION add() RETURNS void LANGUAGE sql AS 'INSERT INTO tasks (id, project_id) VALUES (21, 1)';
                SELECT add();
                INSERT INTO tasks (id, project_id, title) VALUES (1, 1, 'new'), (22, 1, 'new')
                ON CONFLICT (id) DO UPDATE SET title = excluded.title;
                INSERT INTO tasks (id, project_id) VALUES (1, 1), (23, 1) ON CONFLICT DO NOTHING;
                INSERT INTO tasks (id, project_id) VALUES (1, 1) ON CONFLICT DO NOTHING;
                """)
        try await fixture.connection.run { connection in
            _ = try connection.copyIn("COPY tasks (id, project_id) FROM STDIN", rows: [["31", "2"], ["32", "2"]])
        }
        #expect(
            try await fixture.requests() == [
                "public.tasks 1 {21} arrive", "public.tasks 1 {22} arrive", "public.tasks 1 {23} arrive",
                "public.tasks 2 {31,32} arrive",
            ])
        #expect(try await fixture.texts("SELECT title || rank FROM tasks WHERE id = 1") == ["new2"])
    }

    @Test("An inserted row keeps the rank that the INSERT gives") func ownRank() async throws {
        let fixture = try await attached()
        try await fixture.connection.execute(
            script: "INSERT INTO tasks (project_id, rank, rank_num, rank_den) VALUES (1, 7.5, 15, 2)")
        #expect(try await fixture.requests() == [])
        #expect(try await fixture.texts("SELECT rank FROM tasks WHERE rank_num = 15") == ["7.5"])
    }

    @Test("A row that changes lists loses its rank, and a request asks for its new place") func changeOfList()
        async throws
    {
        let fixture = try await attached()
        try await fixture.connection.execute(script: "UPDATE tasks SET project_id = 2 WHERE title IN ('a', 'x')")
        #expect(
            try await fixture.texts(
                "SELECT id || coalesce(rank || '', '-') FROM tasks WHERE project_id = 2 ORDER BY id") == [
                    "20", "3-",
                ])
        #expect(try await fixture.requests() == ["public.tasks 2 {3} arrive"])
    }

    @Test("A change of list by another trigger causes a request") func changeByTrigger() async throws {
        let fixture = try await attached()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION hide() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.project_id := 2; RETURN NEW; END';
                CREATE TRIGGER hide BEFORE UPDATE ON tasks FOR EACH ROW WHEN (NEW.title = 'hide') EXECUTE FUNCTION hide();
                UPDATE tasks SET title = 'hide' WHERE title = 'a';
                """)
        #expect(try await fixture.requests() == ["public.tasks 2 {3} arrive"])
    }

    @Test("A row whose list becomes NULL loses its rank, and causes no request") func listBecomesNull() async throws {
        let fixture = try await attached()
        try await fixture.connection.execute(script: "UPDATE tasks SET project_id = NULL WHERE title = 'a'")
        #expect(try await fixture.requests() == [])
        #expect(
            try await fixture.texts(
                "SELECT rank IS NULL AND rank_num IS NULL AND rank_den IS NULL FROM tasks WHERE title = 'a'") == ["t"])
    }

    @Test("An UPDATE that writes the same rank with further decimals changes nothing", .databaseWithAttachedTasks)
    func furtherDecimals()
        async throws
    {
        let fixture = try await AttachFixture()
        let ranks = try await fixture.texts("SELECT rank FROM tasks ORDER BY id")
        try await fixture.connection.execute("UPDATE tasks SET rank = rank::numeric(57, 38), title = 'saved'")
        #expect(try await fixture.texts("SELECT rank FROM tasks ORDER BY id") == ranks)
    }

    @Test("A stale row that an ORM saves does not undo a move") func staleSave() async throws {
        let fixture = try await attached()
        try await fixture.connection.execute(
            script: """
                BEGIN;
                SELECT set_config('brocot.writing', 'public.tasks', true);
                UPDATE tasks SET rank = 9, rank_num = 9, rank_den = 1 WHERE title = 'a';
                COMMIT;
                UPDATE tasks SET project_id = 1, title = 'saved', rank = 0, rank_num = 0, rank_den = 1 WHERE title = 'a';
                """)
        #expect(
            try await fixture.texts("SELECT title || rank || rank_num || rank_den FROM tasks WHERE id = 3") == [
                "saved991"
            ])
        #expect(try await fixture.requests() == [])
    }

    @Test("An UPDATE of other columns changes no rank, and causes no request") func otherColumns() async throws {
        let fixture = try await attached()
        let before = try await fixture.texts("SELECT string_agg(rank || '', ' ' ORDER BY id) FROM tasks")
        try await fixture.connection.execute(script: "UPDATE tasks SET title = upper(title)")
        #expect(try await fixture.texts("SELECT string_agg(rank || '', ' ' ORDER BY id) FROM tasks") == before)
        #expect(try await fixture.requests() == [])
    }

    @Test("A role without rights in schema brocot can insert and update rows") func withoutRights() async throws {
        let fixture = try await attached()
        try await TestRole.with("app", owner: fixture.connection) { role in
            try await fixture.connection.execute(
                script: """
                    GRANT ALL ON tasks TO \(role.name); SET ROLE \(role.name);
                    INSERT INTO tasks (id, project_id) VALUES (40, 3); UPDATE tasks SET project_id = 2 WHERE title = 'a';
                    """)
        }
        #expect(try await fixture.requests() == ["public.tasks 3 {40} arrive", "public.tasks 2 {3} arrive"])
    }

    @Test("A row whose key is too long for a request causes no request, and no statement fails") func longKeys()
        async throws
    {
        let fixture = try await AttachFixture("CREATE TABLE tasks (id text PRIMARY KEY, project_id text)")
        try await fixture.attach()
        try await fixture.connection.execute(
            script: "INSERT INTO tasks VALUES (repeat('é', 513), 'a'), ('', 'a'), ('b', repeat('x', 1025)), ('c', '')")
        #expect(try await fixture.requests() == ["public.tasks  {c} arrive"])
    }

    @Test("No statement fails after the table was changed or the order was unregistered") func changedTable()
        async throws
    {
        let fixture = try await attached()
        for change in [
            "ALTER TABLE tasks RENAME COLUMN project_id TO board_id", "ALTER TABLE tasks RENAME COLUMN id TO key",
            "ALTER TABLE tasks RENAME COLUMN rank_num TO n", "ALTER TABLE tasks ALTER COLUMN id TYPE integer",
            "ALTER TABLE tasks RENAME TO todos; CREATE VIEW tasks AS TABLE todos", "DELETE FROM brocot.ordered_tables",
            "ALTER TABLE tasks DROP COLUMN rank CASCADE",
        ] {
            try await fixture.connection.execute(
                script: "BEGIN; \(change); INSERT INTO tasks (title) VALUES ('new'); UPDATE tasks SET title = 'newer'")
            #expect(
                try await fixture.texts("SELECT count(*) FROM tasks WHERE title = 'newer'") == ["6"], "\(change)")
            try await fixture.connection.execute(script: "ROLLBACK")
        }
    }

    @Test("A row that changes lists takes no rank along after the table or a column got another name")
    func changeOfListAfterRenaming() async throws {
        let fixture = try await attached()
        for (change, table, list, item) in [
            ("RENAME TO todos", "todos", "project_id", "id"), ("SET SCHEMA other", "other.tasks", "project_id", "id"),
            ("RENAME project_id TO board_id", "tasks", "board_id", "id"),
            ("RENAME id TO key", "tasks", "project_id", "key"),
            ("RENAME rank TO place", "tasks", "project_id", "id"),
            ("RENAME rank_den TO d", "tasks", "project_id", "id"),
            ("ALTER id TYPE integer", "tasks", "project_id", "id"),
        ] {
            try await fixture.connection.execute(
                script: """
                    BEGIN; CREATE SCHEMA other; ALTER TABLE tasks \(change);
                    UPDATE \(table) SET \(list) = 2 WHERE title = 'a';
                    INSERT INTO \(table) (\(item), \(list), title) VALUES (77, 2, 'new');
                    UPDATE \(table) SET \(list) = 1 WHERE title = 'new';
                    """)
            let isLost =
                "num_nulls(\(change.contains("place") ? "place" : "rank"), rank_num, \(change.contains("TO d") ? "d" : "rank_den"))"
            #expect(
                try await fixture.texts("SELECT \(isLost) FROM \(table) WHERE title IN ('a', 'new')") == ["3", "3"],
                "\(change)")
            #expect(
                try await fixture.texts("SELECT \(isLost) FROM \(table) WHERE title = 'x'") == ["0"], "\(change)")
            try await fixture.connection.execute(script: "ROLLBACK")
        }
    }

    @Test("Rows of lists with two columns of different collations cause requests") func differentCollations()
        async throws
    {
        let fixture = try await AttachFixture(
            #"CREATE TABLE tasks (id int PRIMARY KEY, a text COLLATE "C", b text COLLATE "POSIX")"#)
        let definition = AttachFixture.definition(lists: ["a", "b"])
        try await fixture.attach(definition)
        try await fixture.connection.execute(script: "INSERT INTO tasks VALUES (2, 'x', 'y'), (3, 'x', 'z')")
        #expect(
            try await fixture.requests() == [
                #"public.tasks ["x", "y"] {2} arrive"#, #"public.tasks ["x", "z"] {3} arrive"#,
            ])
    }

    @Test(
        "An INSERT may contain a key twice if a trigger replaces the first row", arguments: [true, false], [1, 2])
    func replacedRow(arriveNow: Bool, lists: Int) async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id int PRIMARY KEY, project_id int, title text);
            CREATE FUNCTION replace_row() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN DELETE FROM tasks WHERE id = NEW.id; RETURN NEW; END';
            CREATE TRIGGER replace_row BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION replace_row();
            """)
        try await fixture.attach(AttachFixture.definition(arriveNow: arriveNow), orderBy: "id")
        try await fixture.connection.execute(
            script: """
                INSERT INTO tasks VALUES (5, 1, 'first'), (6, \(lists), 'other'), (5, 1, 'last');
                SELECT brocot.apply_pending();
                """)
        #expect(
            try await fixture.texts("SELECT title FROM tasks WHERE rank IS NOT NULL ORDER BY project_id, rank")
                == (lists == 1 ? ["other", "last"] : ["last", "other"]))
    }

    @Test("The triggers of an attached table do not run a cast that the table's owner made") func hostileCast()
        async throws
    {
        let fixture = try await AttachFixture(
            """
            CREATE TYPE mood AS ENUM ('fine');
            CREATE TABLE tasks (id int PRIMARY KEY, project_id mood);
            """)
        try await fixture.attach()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION steal(mood) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'stolen by %', current_user; END $$;
                CREATE CAST (mood AS text) WITH FUNCTION steal(mood);
                INSERT INTO tasks VALUES (1, 'fine');
                """)
        #expect(try await fixture.requests() == ["public.tasks fine {1} arrive"])
    }

    @Test("The triggers of an attached table do not run a cast of a type that replaced a domain of the same name")
    func exchangedDomain()
        async throws
    {
        let fixture = try await AttachFixture(
            "CREATE DOMAIN key AS text; CREATE TABLE tasks (id key PRIMARY KEY, project_id int)")
        try await fixture.attach()
        try await fixture.connection.execute(
            script: """
                ALTER TABLE tasks ALTER id TYPE text; DROP DOMAIN key; CREATE TYPE key AS ENUM ('a');
                CREATE FUNCTION steal(key) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'stolen by %', current_user; END $$;
                CREATE CAST (key AS text) WITH FUNCTION steal(key);
                ALTER TABLE tasks ALTER id TYPE key USING id::key;
                INSERT INTO tasks VALUES ('a', 1);
                """)
        #expect(try await fixture.requests() == ["public.tasks 1 {a} arrive"])
    }

    @Test("Keys of domains over boolean and date are spelled like keys of the base types", arguments: ["", "_domain"])
    func domains(suffix: String) async throws {
        let fixture = try await AttachFixture(
            """
            CREATE DOMAIN boolean_domain AS boolean; CREATE DOMAIN date_domain AS date;
            CREATE TABLE tasks (id date\(suffix) PRIMARY KEY, project_id boolean\(suffix)); SET DateStyle = 'German';
            """)
        try await fixture.attach()
        try await fixture.connection.execute(script: "INSERT INTO tasks VALUES ('2026-11-21', true)")
        #expect(try await fixture.requests() == ["public.tasks true {2026-11-21} arrive"])
    }
}
