import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Tables that are attached with --arrive-now", .database, .usualTimeLimit)
struct ArriveNowTests {
    private func attached(
        _ tables: String = AttachFixture.tasks, arrive: OrderDefinition.Arrival = .last
    ) async throws -> AttachFixture {
        let fixture = try await AttachFixture(tables)
        try await fixture.attach(AttachFixture.definition(arrive: arrive, arriveNow: true), orderBy: "id")
        return fixture
    }

    /// The ids of the placed rows of each list in order.
    private func order(_ fixture: AttachFixture) async throws -> [String] {
        try await fixture.texts(
            """
            SELECT '"' || project_id || ':' || string_agg(id::text, ',' ORDER BY rank) || '"' FROM tasks
            WHERE rank IS NOT NULL GROUP BY project_id ORDER BY project_id
            """
        ).map { $0.replacing("\"", with: "") }
    }

    @Test("--arrive-now places a new row in the transaction that inserts the row, and ROLLBACK undoes both")
    func insert()
        async throws
    {
        let fixture = try await attached()
        try await fixture.connection.execute(
            script: "BEGIN; INSERT INTO tasks (id, project_id) VALUES (19, 1), (12, 2), (11, 1), (13, NULL), (10, 1)")
        #expect(try await order(fixture) == ["1:1,3,4,19,11,10", "2:2,12"])
        try await fixture.connection.execute(script: "ROLLBACK")
        #expect(try await order(fixture) == ["1:1,3,4", "2:2"])
        #expect(try await fixture.requests() == [])
    }

    @Test("--arrive-now places new rows before all others if rows arrive first, also more rows than one move can have")
    func first()
        async throws
    {
        let fixture = try await attached(
            "CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)", arrive: .first)
        try await fixture.connection.execute(
            script: """
                INSERT INTO tasks SELECT n, 7 FROM generate_series(1, 12000) AS n;
                INSERT INTO tasks VALUES (12001, 7), (12002, 7);
                """)
        let isAsInserted = try await fixture.texts(
            """
            SELECT array_agg(id ORDER BY rank) = ARRAY[12001, 12002] || array_agg(id ORDER BY id) FILTER (WHERE id <= 12000)
            FROM tasks
            """)
        #expect(isAsInserted == ["t"])
        #expect(try await fixture.requests() == [])
    }

    @Test("--arrive-now places a row that changes lists in its new list by the same UPDATE") func changeOfList()
        async throws
    {
        let fixture = try await attached()
        try await fixture.connection.execute(script: "UPDATE tasks SET project_id = 2 WHERE title IN ('a', 'c')")
        #expect(try await order(fixture) == ["1:4", "2:2,1,3"])
        try await fixture.connection.execute(script: "UPDATE tasks SET project_id = NULL WHERE title = 'a'")
        #expect(try await order(fixture) == ["1:4", "2:2,1"])
        #expect(try await fixture.requests() == [])
    }

    @Test(
        "--arrive-now of several orders of a table causes no request, whatever the rank columns are called",
        arguments: ["rank_all", "rank_in_sprint", "a_rank", "z_rank"])
    func severalOrders(rank: String) async throws {
        let fixture = try await attached(
            """
            CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint, sprint bigint);
            INSERT INTO tasks SELECT n, 1, 1 FROM generate_series(1, 3) AS n;
            """)
        try await fixture.attach(AttachFixture.definition(rank: rank, lists: ["sprint"], arriveNow: true))
        try await fixture.connection.execute(
            script: "UPDATE tasks SET project_id = 2, sprint = 2 WHERE id = 1; INSERT INTO tasks VALUES (4, 1, 2)")
        #expect(try await order(fixture) == ["1:2,3,4", "2:1"])
        let sprints = try await fixture.texts(
            "SELECT sprint || '/' || string_agg(id::text, '/' ORDER BY \(rank)) FROM tasks GROUP BY sprint ORDER BY sprint"
        )
        #expect(sprints == ["1/2/3", "2/1/4"])
        #expect(try await fixture.requests() == [])
    }

    @Test("--arrive-now asks the queue to place rows that no policy lets the inserting role update")
    func noUpdatePolicy() async throws {
        let fixture = try await AttachFixture("CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)")
        try await fixture.attach(AttachFixture.definition(arriveNow: true))
        try await fixture.connection.execute(
            script: """
                ALTER TABLE tasks ENABLE ROW LEVEL SECURITY;
                CREATE POLICY readers ON tasks FOR SELECT USING (true);
                CREATE POLICY writers ON tasks FOR INSERT WITH CHECK (true)
                """)
        try await GrantedRole.with(.mover, owner: fixture.connection) { roles in
            try await fixture.connection.execute(
                script:
                    "GRANT INSERT ON tasks TO \(roles[0].name); SET ROLE \(roles[0].name); INSERT INTO tasks VALUES (1, 1), (2, 1)"
            )
            try await fixture.connection.execute("RESET ROLE")
        }
        #expect(try await fixture.requests() == ["public.tasks 1 {1,2} arrive"])
    }

    @Test("--arrive-now asks the queue to place rows that a policy hides from the role that inserts them")
    func hiddenByPolicy() async throws {
        let fixture = try await attached("CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)")
        try await fixture.connection.execute(
            script: """
                ALTER TABLE tasks ENABLE ROW LEVEL SECURITY;
                CREATE POLICY readers ON tasks FOR SELECT USING (project_id = 1);
                CREATE POLICY writers ON tasks FOR INSERT WITH CHECK (true);
                CREATE POLICY movers ON tasks FOR UPDATE USING (true);
                """)
        try await LoginRole.with(.mover) { role, connection in
            try await fixture.connection.execute("GRANT INSERT ON tasks TO \(identifier: role.name)")
            try await connection.execute(script: "INSERT INTO tasks VALUES (1, 1)")
            #expect(try await fixture.requests() == [])
            try await connection.execute(script: "INSERT INTO tasks VALUES (2, 2)")
        }
        #expect(try await order(fixture) == ["1:1"])
        #expect(try await fixture.requests() == ["public.tasks 2 {2} arrive"])
    }

    @Test(
        "--arrive-now asks the queue to place a row if a hidden row has the place after the last visible row",
        arguments: [false, true])
    func placeOfHiddenRow(isPartitioned: Bool) async throws {
        let columns = "id bigint, project_id bigint, deleted boolean NOT NULL DEFAULT false, code text"
        let fixture = try await attached(
            isPartitioned
                ? "CREATE TABLE tasks (\(columns), PRIMARY KEY (project_id, id)) PARTITION BY LIST (project_id)"
                : "CREATE TABLE tasks (\(columns), PRIMARY KEY (id))")
        if isPartitioned {
            // The server names the indexes of a partition that is made later. The role may not use its schema.
            try await fixture.connection.execute(
                script: "CREATE SCHEMA parts; CREATE TABLE parts.tasks_all PARTITION OF tasks DEFAULT")
        }
        try await fixture.connection.execute(
            script: """
                CREATE UNIQUE INDEX tasks_code_key ON \(isPartitioned ? "parts.tasks_all" : "tasks") (code);
                INSERT INTO tasks VALUES (1, 1, false), (2, 1, false); UPDATE tasks SET deleted = true WHERE id = 2;
                """)
        try await fixture.connection.execute(
            script: """
                ALTER TABLE tasks ENABLE ROW LEVEL SECURITY;
                CREATE POLICY readers ON tasks FOR SELECT USING (NOT deleted);
                CREATE POLICY writers ON tasks FOR INSERT WITH CHECK (true);
                CREATE POLICY movers ON tasks FOR UPDATE USING (true);
                CREATE FUNCTION code() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.code := 'same'; RETURN NEW; END $$;
                """)
        try await LoginRole.with(.mover) { role, connection in
            try await fixture.connection.execute("GRANT INSERT ON tasks TO \(identifier: role.name)")
            try await connection.execute(script: "INSERT INTO tasks VALUES (3, 1), (4, 1)")
            #expect(try await order(fixture) == ["1:1,2"])
            #expect(try await fixture.requests() == ["public.tasks 1 {3,4} arrive"])
            try await fixture.connection.execute("SELECT brocot.apply_pending()")
            #expect(try await order(fixture) == ["1:1,2,3,4"])
            // A violation of the user's own constraint is still an error.
            try await fixture.connection.execute(
                script: """
                    INSERT INTO tasks VALUES (5, 2, false, 'same');
                    CREATE TRIGGER code BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION code();
                    """)
            let error = await connection.refusal(ofScript: "INSERT INTO tasks VALUES (6, 2)")
            #expect(error?.constraint == "tasks_code_key")
        }
    }

    @Test(
        "--arrive-now, moves of several items and moves to a position work under policies whose functions need the session's search_path",
        arguments: [
            "LANGUAGE sql STABLE AS 'SELECT project FROM members WHERE role = current_user'",
            "LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT project FROM members WHERE role = current_user); END'",
        ])
    func functionInPolicy(function: String) async throws {
        let fixture = try await attached("CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)")
        try await fixture.connection.execute(
            script: """
                CREATE TABLE members (role name, project bigint); GRANT SELECT ON members TO PUBLIC;
                CREATE FUNCTION my_project() RETURNS bigint \(function);
                ALTER TABLE tasks ENABLE ROW LEVEL SECURITY;
                CREATE POLICY own ON tasks USING (project_id = my_project());
                """)
        try await LoginRole.with(.mover) { role, connection in
            try await fixture.connection.execute("GRANT INSERT ON tasks TO \(identifier: role.name)")
            try await fixture.connection.execute("INSERT INTO members VALUES (\(role.name)::text::name, 1)")
            try await connection.execute(
                script: """
                    INSERT INTO tasks VALUES (1, 1), (2, 1), (3, 1);
                    SELECT brocot.move_items_now(1, ARRAY[1, 2], last => true, ordered_table => 'public.tasks');
                    SELECT brocot.move_now(1, 2, at => 0, ordered_table => 'public.tasks');
                    """)
        }
        #expect(try await order(fixture) == ["1:2,3,1"])
        #expect(try await fixture.requests() == [])
    }

    @Test(
        "--arrive-now uses few subtransactions of a transaction, and then the queue, for a role with row-level security"
    )
    func subtransactions() async throws {
        let fixture = try await attached("CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)")
        try await fixture.connection.execute(
            script: "ALTER TABLE tasks ENABLE ROW LEVEL SECURITY; CREATE POLICY everything ON tasks USING (true)")
        try await LoginRole.with(.mover) { role, connection in
            try await fixture.connection.execute("GRANT INSERT ON tasks TO \(identifier: role.name)")
            let inserts = (1...40).map { "INSERT INTO tasks VALUES (\($0), 1)" }.joined(separator: "; ")
            try await connection.execute(script: "BEGIN; \(inserts); COMMIT")
        }
        #expect(try await fixture.requests() == (33...40).map { "public.tasks 1 {\($0)} arrive" })
        try await fixture.connection.execute("SELECT brocot.apply_pending()")
        #expect(try await order(fixture) == ["1:" + (1...40).map(String.init).joined(separator: ",")])
    }

    @Test("--arrive-now uses a request for a row that changes partitions") func partitions()
        async throws
    {
        let fixture = try await attached(
            """
            CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (id, project_id)) PARTITION BY LIST (project_id);
            CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1); CREATE TABLE tasks_2 PARTITION OF tasks DEFAULT;
            """)
        try await fixture.connection.execute(
            script: "INSERT INTO tasks VALUES (1, 1), (2, 2), (3, 1); UPDATE tasks SET project_id = 2 WHERE id = 1")
        #expect(try await order(fixture) == ["1:3", "2:2"])
        #expect(try await fixture.requests() == ["public.tasks 2 {1} arrive"])
    }

    @Test("--arrive-now logs placed rows with the transaction that inserted them") func logged()
        async throws
    {
        let fixture = try await attached()
        try await fixture.connection.execute(script: "INSERT INTO tasks (id, project_id) VALUES (19, 1), (11, 1)")
        #expect(
            try await fixture.texts(
                """
                SELECT logged.items::text || logged.direct || (logged.xid::xid = stored.xmin)
                FROM brocot.move_log AS logged JOIN tasks AS stored ON stored.id = 19 WHERE logged.placement = 'arrive'
                """) == ["\"{19,11}truetrue\""])
    }

    @Test("--arrive-now uses requests for new rows of more than 256 lists in one transaction")
    func manyLists() async throws {
        let fixture = try await attached()
        try await fixture.connection.execute(
            script: "INSERT INTO tasks (project_id) SELECT n FROM generate_series(1001, 1257) AS n")
        #expect(try await fixture.requests().count == 257)
        try await fixture.connection.execute(
            script: """
                BEGIN;
                INSERT INTO tasks (project_id) SELECT n FROM generate_series(2001, 2200) AS n;
                INSERT INTO tasks (project_id) SELECT n FROM generate_series(2101, 2256) AS n;
                """)
        #expect(try await fixture.requests().count == 257)
        let locks = try await fixture.texts(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
        #expect(locks == ["256"])
        try await fixture.connection.execute(
            script:
                "INSERT INTO tasks (project_id) VALUES (2257), (2001); UPDATE tasks SET project_id = 3001 WHERE title = 'a'; COMMIT"
        )
        #expect(
            try await fixture.requests().suffix(3).map { $0.split(separator: " ")[1] } == ["2257", "2001", "3001"])
    }

    @Test(
        "--arrive-now uses a request for a row that can't be placed at once, and no statement fails",
        arguments: [
            "BEGIN ISOLATION LEVEL REPEATABLE READ", "UPDATE brocot.ordered_tables SET being_filled = true; BEGIN",
            "DELETE FROM brocot.ordered_tables; BEGIN",
        ]) func fallback(_ state: String) async throws
    {
        let fixture = try await attached()
        try await fixture.connection.execute(
            script: """
                \(state); INSERT INTO tasks (id, project_id) VALUES (19, 1);
                UPDATE tasks SET project_id = 2 WHERE title = 'a'; COMMIT
                """)
        #expect(try await fixture.requests() == ["public.tasks 1 {19} arrive", "public.tasks 2 {3} arrive"])
    }

    @Test("--arrive-now places a row with the rights of the inserting role, and uses a request if rights are missing")
    func rights() async throws {
        let fixture = try await attached()
        try await TestRole.with("inserting", owner: fixture.connection) { inserting in
            let role = inserting.name
            func insert(_ id: Int) async throws {
                try await fixture.connection.execute(
                    script: "SET ROLE \(role); INSERT INTO tasks (id, project_id) VALUES (\(id), 1); RESET ROLE")
            }
            try await fixture.connection.execute(
                script: "GRANT SELECT, INSERT, UPDATE ON tasks TO \(role)")
            try await insert(10)
            try await fixture.connection.execute(script: "GRANT USAGE ON SCHEMA brocot TO \(role)")
            try await insert(11)
            try await fixture.connection.run { connection in
                for statement in try AccessGrants.statements(.mover, to: [role], on: connection) {
                    try connection.execute(script: statement)
                }
            }
            try await insert(12)
            #expect(try await order(fixture) == ["1:1,3,4,12", "2:2"])
            try await fixture.connection.execute(script: "REVOKE UPDATE ON tasks FROM \(role)")
            try await fixture.connection.execute(script: "REVOKE UPDATE (rank) ON tasks FROM \(role)")
            try await insert(13)
            #expect(
                try await fixture.requests() == [
                    "public.tasks 1 {10} arrive", "public.tasks 1 {11} arrive", "public.tasks 1 {13} arrive",
                ])
        }
    }

    @Test("--arrive-now leaves a row unplaced if its key is too long for a move, and no statement fails")
    func longKeys() async throws {
        let fixture = try await attached("CREATE TABLE tasks (id text PRIMARY KEY, project_id text)")
        try await fixture.connection.execute(
            script: "INSERT INTO tasks VALUES (repeat('é', 513), 'a'), ('', 'a'), ('b', repeat('x', 1025)), ('c', '')")
        #expect(try await order(fixture) == [":c"])
        #expect(try await fixture.requests() == [])
    }

    @Test(
        "--arrive-now places new rows under a hostile search_path, with keys of several types",
        .databaseWithHostileSchema)
    func hostileSearchPath() async throws {
        let values = ["date": "2026-11-21", "boolean": "true", "date_domain": "2026-11-21"]
        let fixture = try await AttachFixture(
            """
            CREATE DOMAIN date_domain AS date;
            ALTER DATABASE \(TestDatabase.current.name) SET DateStyle = 'German';
            """)
        for type in values.keys {
            try await fixture.connection.execute(
                script: "CREATE TABLE tasks_by_\(type) (id bigint PRIMARY KEY, project_id \(type))")
            try await fixture.attach(AttachFixture.definition(table: "tasks_by_\(type)", arriveNow: true))
        }
        try await HostileSchema.putFirst()
        let application = try await TestDatabase.current.connect()
        let observer = try await HostileSchema.connectUntouched()
        for (type, value) in values {
            try await application.execute(
                script: "INSERT INTO public.tasks_by_\(type) (id, project_id) VALUES (1, '\(value)'), (2, '\(value)')")
            let placed = try await observer.query(
                "SELECT FROM public.tasks_by_\(unsafeRaw: type) WHERE rank IS NOT NULL")
            #expect(placed.count == 2, "\(type)")
        }
    }

    @Test("--arrive-now lets two transactions that insert into the same list take turns") func takeTurns() async throws
    {
        let fixture = try await attached()
        let other = try await TestDatabase.current.connect()
        try await fixture.connection.execute(script: "BEGIN; INSERT INTO tasks (id, project_id) VALUES (10, 1)")
        async let waiting: Void = other.execute(script: "INSERT INTO tasks (id, project_id) VALUES (11, 1)")
        // The INSERT waits for the list's lock.
        try await TestDatabase.current.waitUntilBlocked(other, by: fixture.connection)
        try await fixture.connection.execute(script: "COMMIT")
        try await waiting
        #expect(try await order(fixture) == ["1:1,3,4,10,11", "2:2"])
    }

    @Test("A table attached with --arrive-now keeps no trigger or function after it is detached") func detach()
        async throws
    {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        let before = try await fixture.catalog()
        try await fixture.attach(AttachFixture.definition(arriveNow: true))
        #expect(try await fixture.attach(AttachFixture.definition(arriveNow: true)) == 0, "nothing is left to do")
        try await fixture.detach()
        #expect(try await fixture.catalog() == before)
    }
}
