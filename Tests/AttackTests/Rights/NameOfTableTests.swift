import Administration
import LibPQ
import Migrations
import Ordering
import TestLimit
import TestPostgres
import Testing

/// The owner of an attached table, or whoever may create objects in the schema of a dropped one, puts something else in its place.
@Suite("The name of an attached table", .database, .usualTimeLimit)
struct NameOfTableTests {
    private static let names = OrderNames(schema: "public", table: "tasks")

    /// Tasks that are registered, and a function that leaves a trace of the role that runs it.
    private static let tasks = """
        CREATE TABLE public.traces (by text);
        CREATE FUNCTION public.pwn(bigint) RETURNS bigint LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO public.traces VALUES (current_user); RETURN $1; END $$;
        \(RegisteredTable.script("public.tasks", columns: "id bigint PRIMARY KEY, board bigint", item: "id"))
        INSERT INTO public.tasks VALUES (1, 1, 0, 1, 0);
        """

    private static let replacedByView = """
        ALTER TABLE public.tasks RENAME TO tasks_real;
        CREATE VIEW public.tasks AS SELECT public.pwn(id) AS id, board, rank_num, rank_den, rank FROM public.tasks_real;
        """

    private func expectNoTraces(_ owner: Connection) async throws {
        #expect(try await owner.query("SELECT FROM public.traces").isEmpty)
    }

    private func doctor(url: String = TestDatabase.current.url) async throws -> [CheckResult] {
        await Doctor(
            parameters: try ConnectionParameters(url: url), role: .daemon, oldTransaction: .seconds(900),
            logger: .silent
        ).examine()
    }

    @Test("No command reads a view that has the name of an attached table, and brocot doctor reports it")
    func view() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(script: Self.tasks + Self.replacedByView)
        let result = try #require(try await doctor().first { $0.check == "tables" })
        #expect(result.level == .fail && result.message == "public.tasks is a view, not a table")
        #expect(result.advice?.contains("brocot detach") == true)
        let repair = TableRepair(connection: owner, logger: .silent)
        for definition in try await repair.definitions(named: nil) {
            #expect(
                try await repair.findings(of: definition) == .refused("this is a view. Only tables can be attached"))
        }
        let error = await #expect(throws: OrderingError.self) {
            try await owner.run { connection throws in
                try connection.transaction(.repeatableReadOnly) { connection throws in
                    _ = try ListReader.open(ListIdentifier("1", of: "public.tasks"), on: connection)
                }
            }
        }
        guard case .missingColumn = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try await expectNoTraces(owner)
    }

    @Test("A list is not read if its table was replaced by a view after the table was looked up")
    func replacedMeanwhile() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(script: Self.tasks)
        let table = try #require(
            try await owner.run { connection throws in
                try connection.transaction { connection throws in
                    try OrderedTable.named("public.tasks", on: connection)
                }
            })
        try await owner.execute(script: Self.replacedByView)
        await #expect(throws: AttachError.self) {
            try await owner.run { connection throws in _ = try CapacityReader(table).read("1", on: connection) }
        }
        try await expectNoTraces(owner)
    }

    @Test("A transaction that holds a table's name sees the table until it ends") func held() async throws {
        let (reader, owner) = (try await TestDatabase.current.connect(), try await TestDatabase.current.connect())
        try await owner.execute(script: Self.tasks)
        let isHeld = try await reader.run { connection throws(PostgresError) in
            try connection.transaction(.repeatableReadOnly) { connection throws(PostgresError) in
                let outcome = try TableLock.lock(Self.names, on: connection)
                let locks = try connection.query(
                    "SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'public.tasks'::regclass")
                return outcome == .locked && locks.count == 1
            }
        }
        #expect(isHeld)
        try await owner.execute(script: Self.replacedByView)
        let outcome = try await reader.run { connection throws(PostgresError) in
            try connection.transaction { connection throws(PostgresError) in
                try TableLock.lock(Self.names, on: connection)
            }
        }
        #expect(outcome == .notATable)
    }

    @Test(
        "A table that is replaced while its lock is waited for is not read",
        arguments: [
            TransactionMode.readCommitted, .repeatableReadOnly,
        ])
    func replacedWhileWaiting(mode: TransactionMode) async throws {
        let (reader, owner) = (try await TestDatabase.current.connect(), try await TestDatabase.current.connect())
        try await owner.execute(script: Self.tasks)
        try await owner.execute(script: "BEGIN; LOCK TABLE public.tasks")
        async let outcome = reader.run { connection throws(PostgresError) in
            try connection.transaction(mode) { connection throws(PostgresError) in
                try TableLock.lock(Self.names, on: connection)
            }
        }
        try await TestDatabase.current.waitUntilBlocked(reader, by: owner)
        try await owner.execute(script: "\(Self.replacedByView) COMMIT")
        #expect(try await outcome == .notATable)
    }

    /// A function in the condition of an index, which the server calls while it plans a query of the table.
    @Test("brocot check and the plans of attach and detach let no code of a table's owner write") func codeInPlans()
        async throws
    {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                \(Self.tasks)
                CREATE FUNCTION public.trap(bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
                    $$ BEGIN IF current_setting('test.armed', true) = 'yes' THEN PERFORM public.pwn($1); END IF; RETURN true; END $$;
                CREATE INDEX trap ON public.tasks (id) WHERE public.trap(1);
                SET test.armed = 'yes';
                """)
        let definition = OrderDefinition(names: Self.names, listColumns: ["board"], itemColumn: "id")
        _ = try await TableRepair(connection: owner, logger: .silent).findings(of: definition)
        let attachment = Attachment(definition, orderedBy: "id", connection: owner, logger: .silent)
        _ = try? await attachment.plan()
        let detachment = Detachment(Self.names, droppingColumns: true, connection: owner, logger: .silent)
        _ = try? await detachment.plan(forOtherRoles: true)
        try await expectNoTraces(owner)
    }

    private func withRole(_ body: (String, Connection) async throws -> Void) async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with("mallory", owner: owner) { try await body($0.name, owner) }
    }

    private func refusal(_ tables: UsedTables, on connection: Connection) async -> [String] {
        do {
            try await Migrator(connection: connection).refuseForeignTablesAsSuperuser(tables)
            return []
        } catch {
            guard case .foreignTables(let objects, _) = error else {
                Issue.record("\(error)")
                return []
            }
            return objects.map { "\($0.name) of \($0.owner)" }
        }
    }

    @Test("A superuser trusts no role that somebody else granted to it") func grantByOthers() async throws {
        try await withRole { role, owner in
            try await TestRole.with("administrator", owner: owner) { administrator in
                try await owner.execute(
                    script: """
                        \(Self.tasks) ALTER TABLE public.tasks OWNER TO \(role);
                        GRANT \(role) TO \(administrator.name) WITH ADMIN OPTION;
                        SET ROLE \(administrator.name); GRANT \(role) TO postgres; RESET ROLE;
                        """)
                #expect(await refusal(.attached, on: owner) == ["table public.tasks of \(role)"])
                try await owner.execute(
                    script: """
                        SET ROLE \(administrator.name); REVOKE \(role) FROM postgres; RESET ROLE; GRANT \(role) TO postgres
                        """)
                #expect(await refusal(.attached, on: owner) == [])
                try await owner.execute(script: "DROP TABLE public.tasks; DROP OWNED BY \(role)")
            }
        }
    }

    @Test("A superuser uses no relation that another role made under the name of a dropped table") func squatter()
        async throws
    {
        try await withRole { role, owner in
            try await owner.execute(
                script: """
                    \(Self.tasks) DROP TABLE public.tasks; GRANT CREATE ON SCHEMA public TO \(role); SET ROLE \(role);
                    CREATE FUNCTION public.rise() RETURNS numeric LANGUAGE plpgsql AS
                        $$ BEGIN ALTER ROLE \(role) SUPERUSER; RETURN 0; END $$;
                    CREATE VIEW public.tasks AS
                        SELECT 1::bigint AS id, 1::bigint AS board, 0::bigint AS rank_num, 1::bigint AS rank_den, public.rise() AS rank;
                    RESET ROLE;
                    """)
            let result = try #require(try await doctor().first { $0.check == "schema" })
            #expect(result.failureKind == .needsRepair)
            #expect(result.message.contains("view public.tasks, owned by \(role)"), "\(result.message)")
            #expect(!result.message.contains("\n"))
            let isSuperuser = try await owner.query("SELECT rolsuper FROM pg_roles WHERE rolname = \(role)").single()
            #expect(try !isSuperuser.decode(0, as: Bool.self))
        }
    }

    @Test(
        "A superuser uses no table whose code another role can change, unless that role was granted to it",
        arguments: [
            ("ALTER TABLE public.tasks OWNER TO ROLE", "table public.tasks"),
            (
                """
                CREATE TYPE public.mood AS ENUM ('good'); ALTER TYPE public.mood OWNER TO ROLE;
                ALTER TABLE public.tasks ADD COLUMN mood public.mood
                """, "type public.mood"
            ),
            (
                """
                CREATE DOMAIN public.number AS bigint; ALTER DOMAIN public.number OWNER TO ROLE;
                ALTER TABLE public.tasks ADD COLUMN numbers public.number[]
                """, "type public.number"
            ),
            (
                """
                CREATE FUNCTION public.touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
                ALTER FUNCTION public.touch() OWNER TO ROLE;
                CREATE TRIGGER touch BEFORE UPDATE ON public.tasks FOR EACH ROW EXECUTE FUNCTION public.touch()
                """, "trigger touch on public.tasks"
            ),
        ])
    func owners(change: String, object: String) async throws {
        try await withRole { role, owner in
            try await owner.execute(script: Self.tasks)
            #expect(await refusal(.attached, on: owner).isEmpty)
            try await owner.execute(script: change.replacing("ROLE", with: role))
            let expected = ["\(object) of \(role)"]
            #expect(await refusal(.attached, on: owner) == expected)
            #expect(await refusal(.order("public.tasks"), on: owner) == expected)
            #expect(await refusal(.table(schema: "public", name: "tasks"), on: owner) == expected)
            #expect(await refusal(.order("items"), on: owner).isEmpty)
            try await owner.execute("GRANT \(identifier: role) TO CURRENT_USER")
            #expect(await refusal(.attached, on: owner).isEmpty)
        }
    }

    @Test("A superuser uses no partitioned table with a partition of another role") func partition() async throws {
        try await withRole { role, owner in
            try await owner.execute(
                script: """
                    CREATE TABLE public.parts (id bigint, board bigint, PRIMARY KEY (board, id)) PARTITION BY LIST (board);
                    CREATE TABLE public.part PARTITION OF public.parts FOR VALUES IN (1);
                    ALTER TABLE public.part OWNER TO \(role);
                    """)
            #expect(
                await refusal(.table(schema: "public", name: "parts"), on: owner)
                    == ["table public.part of \(role)"])
        }
    }

    @Test("A role that is no superuser may use tables of other roles") func plainRole() async throws {
        try await withRole { role, owner in
            try await owner.execute(
                script: "\(Self.tasks) GRANT USAGE ON SCHEMA brocot TO \(role); SET ROLE \(role)")
            #expect(await refusal(.attached, on: owner).isEmpty)
            try await owner.execute("RESET ROLE")
        }
    }
}
