import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("The commands attach and detach", .database, .usualTimeLimit) struct AttachCommandTests {
    private static let arguments = ["attach", "public.tasks", "--item", "id", "--list", "project_id"]

    private func database() async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id int PRIMARY KEY, project_id int, position int);
                INSERT INTO tasks SELECT n, n % 2, -n FROM generate_series(1, 6) AS n;
                """)
        return connection
    }

    private func order(on connection: Connection) async throws -> [Int32] {
        try await connection.query("SELECT id FROM tasks ORDER BY project_id, rank, id").map { try $0.decode(0) }
    }

    @Test(
        "brocot attach attaches a table in the given order, says how many rows it placed and what to do next, and has nothing to do the second time"
    )
    func attach() async throws {
        let connection = try await database()
        let attached = try await BrocotProcess.run(Self.arguments + ["--order-by", "position"])
        #expect(attached.exitCode == 0)
        #expect(
            attached.errors.contains(
                """
                Attached public.tasks: placed 6 rows. Read it with ORDER BY "rank". Next: brocot grant requester ROLE or brocot grant mover ROLE
                """), "\(attached.errors)")
        #expect(try await order(on: connection) == [6, 4, 2, 5, 3, 1])
        let again = try await BrocotProcess.run(Self.arguments)
        #expect(again.exitCode == 0)
        #expect(again.errors.contains("Nothing to do."))
    }

    @Test("brocot attach with another option names --change-options, which changes it") func changedOption()
        async throws
    {
        let connection = try await database()
        _ = try await BrocotProcess.run(Self.arguments + ["--order-by", "position"])
        let arguments = Self.arguments + ["--arrive", "first", "--arrive-now"]
        let refused = try await BrocotProcess.run(arguments)
        #expect(refused.exitCode == 2)
        #expect(refused.errors.contains("add --change-options. The rows keep their order"), "\(refused.errors)")
        let changed = try await BrocotProcess.run(arguments + ["--change-options"])
        #expect(changed.exitCode == 0)
        #expect(changed.errors.hasSuffix("Changed the options of public.tasks.\n"), "\(changed.errors)")
        try await connection.execute("INSERT INTO tasks VALUES (7, 0, 0)")
        #expect(try await order(on: connection) == [7, 6, 4, 2, 5, 3, 1])
    }

    @Test("brocot attach --dry-run prints a plan and changes nothing") func dryRun() async throws {
        let connection = try await database()
        let plan = try await BrocotProcess.run(Self.arguments + ["--dry-run"])
        #expect(plan.exitCode == 0)
        #expect(plan.output.hasPrefix("1. add the rank columns and their constraint: readers and writers wait"))
        #expect(
            try await connection.query(
                "SELECT FROM pg_attribute WHERE attname = 'rank_num' AND attrelid = 'tasks'::regclass"
            ).isEmpty)
    }

    @Test(
        "brocot attach --sql prints SQL, after which brocot attach only places the rows, whether the session quotes all names or not",
        arguments: ["off", "on"])
    func sql(quotesAllNames: String) async throws {
        let connection = try await database()
        let printed = try await BrocotProcess.run(Self.arguments + ["--sql"])
        try await connection.execute(script: "SET quote_all_identifiers = \(quotesAllNames)")
        for statement in printed.output.split(separator: ";\n\n").flatMap({ part in
            part.contains("CONCURRENTLY") ? ["\(part)"] : ["\(part);"]
        }) {
            try await connection.execute(script: statement)
        }
        #expect(printed.output.hasSuffix("-- Until then, moves of this table wait.\n"))
        let rest = try await BrocotProcess.run(Self.arguments + ["--sql"])
        #expect(rest.output.hasPrefix("-- Then run the same brocot attach without --sql."), "\(rest.output)")
        let attached = try await BrocotProcess.run(Self.arguments + ["--order-by", "position"])
        #expect(attached.errors.split(separator: "\n").count == 1)
        #expect(try await order(on: connection) == [6, 4, 2, 5, 3, 1])
        #expect(
            printed.output.hasPrefix("-- Send these statements one by one, not inside a transaction of your tool: psql")
        )
        let again = try await BrocotProcess.run(Self.arguments + ["--sql"])
        #expect(again.exitCode == 0 && again.output == "-- Nothing to do.\n", "\(again.output)")
    }

    @Test("brocot attach --sql --transactional prints SQL for one transaction, which attaches a table without rows")
    func transactional() async throws {
        let connection = try await database()
        try await connection.execute(script: "DELETE FROM tasks")
        let printed = try await BrocotProcess.run(Self.arguments + ["--sql", "--transactional"])
        try await connection.execute(
            script: """
                SET search_path = public, pg_catalog; BEGIN; CREATE TABLE other (id int);
                \(printed.output)
                INSERT INTO other VALUES (1); INSERT INTO tasks VALUES (3, 1), (1, 1); COMMIT;
                """)
        let path = try await connection.query("SHOW search_path").single().decode(0, as: String.self)
        #expect(path == "public, pg_catalog")
        let checked = try await BrocotProcess.run("check", "public.tasks")
        #expect(checked.exitCode == 0, "\(checked.output)\(checked.errors)")
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 0)
        #expect(try await order(on: connection) == [3, 1])
        try await connection.execute(
            script: "SELECT brocot.move_now(1, 1, first => true, ordered_table => 'public.tasks')")
        #expect(try await order(on: connection) == [1, 3])
        for again in [["--sql"], ["--sql", "--transactional"]] {
            #expect(try await BrocotProcess.run(Self.arguments + again).output == "-- Nothing to do.\n")
        }
    }

    @Test("The SQL of brocot attach --transactional changes nothing if the table has rows") func transactionalWithRows()
        async throws
    {
        let connection = try await database()
        let printed = try await BrocotProcess.run(Self.arguments + ["--sql", "--transactional"])
        let error = await connection.refusal(ofScript: "BEGIN; \(printed.output)")
        #expect(error?.sqlState?.rawValue == "55000")
        #expect(error?.message == "public.tasks has rows. Run brocot attach instead, which places them.")
        let alone = try await BrocotProcess.run(Self.arguments + ["--transactional"])
        #expect(alone.exitCode == 2)
        #expect(alone.errors.contains("Give --transactional together with --sql."))
    }

    @Test(
        "brocot attach changes nothing if --order-by is wrong, and says so", arguments: [[], ["--dry-run"], ["--sql"]])
    func wrongOrder(options: [String]) async throws {
        let connection = try await database()
        let result = try await BrocotProcess.run(Self.arguments + ["--order-by", "nope"] + options)
        #expect(result.exitCode == 2)
        #expect(
            result.errors.contains("--order-by is not valid: column \"nope\" does not exist. Nothing was changed."),
            "\(result.errors)")
        #expect(try await connection.query("SELECT FROM brocot.ordered_tables").count == 1)
    }

    @Test("brocot attach says that requests wait if placing the rows fails") func failingRows() async throws {
        let connection = try await database()
        try await connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
                CREATE TRIGGER refuse BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION refuse();
                """)
        let result = try await BrocotProcess.run(Self.arguments)
        #expect(result.exitCode == 1)
        #expect(
            result.errors.contains(
                """
                of the table raises this error. The steps above stay, and requests for public.tasks wait. Change the row, \
                the trigger or the constraint, and run the same brocot attach again.
                """),
            "\(result.errors)")
        let check = try await BrocotProcess.run("check")
        #expect(check.exitCode == 7)
        #expect(!check.errors.contains("Repair them"), "\(check.errors)")
    }

    @Test("brocot attach refuses a wrong table or column with exit code 2 and the reason") func refuse() async throws {
        _ = try await database()
        let missing = try await BrocotProcess.run("attach", "public.nowhere", "--item", "id")
        #expect(missing.exitCode == 2)
        #expect(missing.errors.contains("there is no table public.nowhere"))
        let column = try await BrocotProcess.run("attach", "tasks", "--item", "name")
        #expect(column.exitCode == 2)
        #expect(column.errors.contains("there is no column \"name\"; it has id, project_id, position"))
        #expect(try await BrocotProcess.run("detach", "tasks").exitCode == 2)
    }

    @Test("A request waits until the rows of its table are placed") func requestsWait() async throws {
        let connection = try await database()
        _ = try await BrocotProcess.run(Self.arguments)
        try await connection.execute(
            script: """
                UPDATE brocot.ordered_tables SET being_filled = true WHERE name = 'public.tasks';
                SELECT brocot.move(0, 6, first => true, ordered_table => 'public.tasks');
                """)
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 7)
        #expect(try await connection.query("SELECT FROM brocot.move_requests").count == 1)
    }

    @Test(
        "daemon --drain ends with status 7 if only requests of tables that it can't use are left",
        arguments: [
            ("DROP TABLE tasks", "there is no table public.tasks"),
            ("CREATE RULE nothing AS ON UPDATE TO tasks DO INSTEAD NOTHING", "The table has a rule"),
        ])
    func unusableTables(change: String, reason: String) async throws {
        let connection = try await database()
        _ = try await BrocotProcess.run(Self.arguments)
        try await connection.execute(
            script: """
                SELECT brocot.move(0, 6, first => true, ordered_table => 'public.tasks'),
                    brocot.move(1, 3, last => true, from_list => 0, ordered_table => 'public.tasks'),
                    brocot.move('list', 'item', first => true);
                \(change);
                """)
        let result = try await BrocotProcess.run("daemon", "--drain")
        #expect(result.exitCode == 7)
        #expect(result.errors.contains(reason), "\(result.errors)")
        let left = try await connection.query("SELECT ordered_table FROM brocot.move_requests")
        #expect(try left.map { try $0.decode(0, as: String.self) } == ["public.tasks", "public.tasks"])
    }

    @Test("brocot attach works where transactions are read-only by default") func readOnlyByDefault() async throws {
        let connection = try await database()
        let name = SQL(unsafeRaw: quoteIdentifier(TestDatabase.current.name))
        try await connection.execute("ALTER DATABASE \(name) SET default_transaction_read_only = on")
        let result = try await BrocotProcess.run(Self.arguments)
        #expect(result.exitCode == 0, "\(result.errors)")
        #expect(try await BrocotProcess.run("check", "--repair").exitCode == 0)
        #expect(try await BrocotProcess.run("detach", "public.tasks").exitCode == 0)
    }

    @Test(
        "brocot attach and brocot check turn just-in-time compilation off, and set idle_in_transaction_session_timeout to a minute"
    )
    func settings() async throws {
        let connection = try await database()
        let name = SQL(unsafeRaw: quoteIdentifier(TestDatabase.current.name))
        try await connection.execute("ALTER DATABASE \(name) SET jit = on")
        try await connection.execute("ALTER DATABASE \(name) SET idle_in_transaction_session_timeout = '1h'")
        try await connection.execute(
            script: """
                CREATE FUNCTION public.has_settings(bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
                    IF (current_setting('jit'), current_setting('idle_in_transaction_session_timeout')) <> ('off', '1min') THEN
                        RAISE 'other settings';
                    END IF;
                    RETURN $1;
                END $$;
                """)
        let attach = try await BrocotProcess.run(
            "attach", "public.tasks", "--item", "id", "--order-by", "public.has_settings(id)", "--visible",
            "public.has_settings(id) > 0")
        #expect(attach.exitCode == 0, "\(attach.errors)")
        try await connection.execute(
            script: """
                ALTER TABLE tasks DROP CONSTRAINT brocot_rank_is_valid; SET session_replication_role = replica;
                UPDATE tasks SET rank = 2.50 WHERE id = 3;
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF public.has_settings(NEW.id) > 0 THEN RETURN NEW; END IF;
                END $$;
                CREATE TRIGGER refuse BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION refuse();
                """)
        let repair = try await BrocotProcess.run("check", "--repair")
        #expect(repair.exitCode == 0, "\(repair.output)\(repair.errors)")
    }

    @Test("brocot detach rejects pending requests, so that they never change a later order of the same table")
    func detach() async throws {
        let connection = try await database()
        _ = try await BrocotProcess.run(Self.arguments)
        try await connection.execute(
            script: "SELECT brocot.move(0, 6, first => true, ordered_table => 'public.tasks')")
        let detached = try await BrocotProcess.run("detach", "public.tasks", "--drop-columns")
        #expect(detached.exitCode == 0)
        #expect(detached.errors.contains("Detached public.tasks."))
        let outcome = try await connection.query("SELECT error_code, error FROM brocot.move_log").single()
        #expect(try outcome.decode(0, as: String.self) == "unknown_ordered_table")
        #expect(try outcome.decode(1, as: String.self) == "the ordered table 'public.tasks' was detached")
        #expect(try await connection.query("SELECT FROM brocot.move_requests").isEmpty)
    }

    @Test("A second order of a table can be named as in the registry, and its messages say how to detach it")
    func secondOrder()
        async throws
    {
        let connection = try await database()
        _ = try await BrocotProcess.run(Self.arguments)
        _ = try await BrocotProcess.run("attach", "public.tasks", "--item", "id", "--rank", "place")
        try await connection.execute(
            script: """
                UPDATE brocot.ordered_tables SET being_filled = true WHERE name = 'public.tasks.place';
                INSERT INTO brocot.rows_to_place (ordered_table, number, list, item, rank_num) VALUES ('public.tasks.place', 1, '{}', '1', 1)
                """)
        let check = try await BrocotProcess.run("check")
        #expect(check.output.contains("public.tasks: all is right"), "\(check.output)")
        #expect(check.output.contains("public.tasks.place: brocot attach is not finished"), "\(check.output)")
        let command = "brocot detach public.tasks --rank place --drop-columns."
        #expect(check.output.contains(command), "\(check.output)")
        let doctor = try await BrocotProcess.run("doctor")
        #expect(doctor.output.contains(command), "\(doctor.output)")
        let detached = try await BrocotProcess.run("detach", "public.tasks.place", "--drop-columns")
        #expect(detached.exitCode == 0, "\(detached.errors)")
        #expect(try await BrocotProcess.run("check").exitCode == 0)
        #expect(try await BrocotProcess.run("detach", "public.tasks").exitCode == 0)
    }

    @Test("A second brocot attach says how many rows it leaves without a place, and how they get one")
    func rowsWithoutPlace() async throws {
        let connection = try await database()
        _ = try await BrocotProcess.run(Self.arguments)
        try await connection.execute(
            script: """
                SELECT brocot.remove_now(1, 3, ordered_table => 'public.tasks'); ALTER TABLE tasks RENAME TO jobs
                """)
        #expect(try await BrocotProcess.run("detach", "public.tasks").exitCode == 0)
        let arguments = ["attach", "public.jobs"] + Self.arguments.dropFirst(2)
        let planned = try await BrocotProcess.run(arguments + ["--dry-run"])
        #expect(planned.output.contains("1 row is in a list but has no place"), "\(planned.output)")
        let attached = try await BrocotProcess.run(arguments)
        #expect(attached.exitCode == 0)
        #expect(
            attached.errors.contains("Attached public.jobs: kept its order, and placed 0 rows."), "\(attached.errors)")
        #expect(
            attached.errors.contains(
                """
                The table has an order already. 1 row is in a list but has no place (new, removed from the order, or never placed). \
                To place all of them: brocot check --repair --place-rows --table public.jobs
                """), "\(attached.errors)")
        let unplaced: Int = try await connection.query("SELECT id FROM jobs WHERE rank IS NULL").single().decode(0)
        #expect(unplaced == 3)
    }

    @Test("brocot attach --sql says that its removal of equal ranks keeps these rows locked until COMMIT")
    func lockOfEqualRanks() async throws {
        _ = try await database()
        _ = try await BrocotProcess.run(Self.arguments)
        _ = try await BrocotProcess.run("detach", "public.tasks")
        let printed = try await BrocotProcess.run(Self.arguments + ["--sql"])
        let comment = "as the table's owner: the rows that lose their rank stay locked until COMMIT"
        #expect(printed.output.contains(comment), "\(printed.output)")
    }

    @Test("A second brocot attach says how many rows had the rank of another row; its --sql removes these ranks too")
    func equalRanks() async throws {
        let connection = try await database()
        for usesSQL in [false, true] {
            _ = try await BrocotProcess.run(Self.arguments)
            _ = try await BrocotProcess.run("detach", "public.tasks")
            try await connection.execute(script: "UPDATE tasks SET project_id = 0 WHERE id = \(usesSQL ? 3 : 1)")
            if usesSQL {
                let printed = try await BrocotProcess.run(Self.arguments + ["--sql"])
                for part in printed.output.split(separator: ";\n\n") {
                    try await connection.execute(script: part.contains("CONCURRENTLY") ? "\(part)" : "\(part);")
                }
            }
            let attached = try await BrocotProcess.run(Self.arguments)
            #expect(attached.exitCode == 0, "\(attached.errors)")
            #expect(
                attached.errors.contains("1 row lost the rank, because another row of the list had the same rank")
                    == !usesSQL,
                "\(attached.errors)")
        }
        #expect(try await order(on: connection) == [1, 3, 6, 2, 4, 5])
    }
}
