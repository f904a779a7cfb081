import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("What brocot attach refuses before it changes anything", .database, .usualTimeLimit)
struct AttachRefusalTests {
    /// Statements, and the reason why the whole table can't be one list.
    private static let unsuitable = [
        ("SELECT 1", "there is no table public.tasks"),
        ("CREATE TABLE tasks (id bytea PRIMARY KEY)", "is of type bytea"),
        ("CREATE TABLE tasks (id int)", "may be NULL"),
        ("CREATE TABLE tasks (id int NOT NULL)", "not unique"),
        ("CREATE TABLE tasks (id int NOT NULL UNIQUE DEFERRABLE)", "not unique"),
        ("CREATE TABLE tasks (id int NOT NULL); CREATE UNIQUE INDEX ON tasks (id) WHERE id > 0", "not unique"),
        ("CREATE TABLE tasks (id int PRIMARY KEY, rank int)", "its column \"rank\" is integer"),
        (
            "CREATE TABLE tasks (id int PRIMARY KEY); CREATE RULE r AS ON UPDATE TO tasks DO ALSO NOTIFY tasks",
            "this table has a rule ON UPDATE"
        ),
        ("CREATE VIEW tasks AS SELECT 1 AS id", "this is a view. Only tables can be attached"),
        (
            "CREATE TABLE all_tasks (id int NOT NULL) PARTITION BY LIST (id); CREATE TABLE tasks PARTITION OF all_tasks DEFAULT",
            "this is a partition of public.all_tasks. Attach public.all_tasks"
        ),
        (
            "CREATE TABLE tasks (id int PRIMARY KEY); CREATE TABLE heir () INHERITS (tasks)",
            "table public.heir inherits from this table, so no index can make sure that ranks differ. The table can be attached only after ALTER TABLE public.heir NO INHERIT public.tasks"
        ),
        (
            "CREATE TYPE task AS (id int); CREATE TABLE tasks OF task (PRIMARY KEY (id))",
            "this is a table of a type (CREATE TABLE … OF), to which no column can be added"
        ),
        (
            "CREATE TABLE tasks (id numeric PRIMARY KEY)",
            "one value may be written in several ways, such as 1.0 and 1.00"
        ),
        (
            "CREATE TABLE tasks (id text NOT NULL); CREATE UNIQUE INDEX ON tasks (id COLLATE \"POSIX\")",
            "It needs a primary key or a unique index with the columns' own collations, neither partial nor deferrable"
        ),
        ("CREATE TABLE tasks (id char(3) PRIMARY KEY)", "spaces at the end don't count"),
        (
            "CREATE TYPE size AS ENUM ('s'); CREATE DOMAIN small AS size; CREATE TABLE tasks (id small PRIMARY KEY)",
            "a domain over an enum type, which can't be a key"
        ),
        (
            "CREATE TABLE tasks (id oid PRIMARY KEY)",
            "is of type oid, which can't be a key: Brocot checks the texts of keys, and has no rule for the texts of this type. Keys are text"
        ),
        (
            "CREATE TABLE tasks (id int PRIMARY KEY, rank text NOT NULL)",
            "its column \"rank\" is text NOT NULL; Brocot needs numeric, nullable, without default"
        ),
        (
            // As an object mapper may create it.
            "CREATE TABLE tasks (id int PRIMARY KEY, rank numeric(57,38))",
            "its column \"rank\" is numeric(57,38); Brocot needs numeric, nullable, without default. Change its type to numeric"
        ),
        (
            "CREATE TABLE tasks (id int PRIMARY KEY, rank_num bigint NOT NULL)",
            "its column \"rank_num\" is bigint NOT NULL; Brocot needs bigint, nullable, without default. Choose another name"
        ),
    ]

    /// Statements, and the reason why its column can't be a list.
    private static let unsuitableLists = [
        ("project_id numeric", "is of type numeric"), ("project_id timestamptz", "is of type timestamp with time zone"),
        ("project_id float8", "is of type double precision"), ("board_id int", "no column \"project_id\""),
        ("n int, project_id int GENERATED ALWAYS AS (n) STORED", "is generated"),
    ].map { ("CREATE TABLE tasks (id int PRIMARY KEY, \($0))", $1) }

    @Test("brocot attach says why an object can't be attached, and registers nothing") func unsuitable() async throws {
        let fixture = try await AttachFixture("SELECT 1")
        for (lists, cases) in [([], Self.unsuitable), (["project_id"], Self.unsuitableLists)] {
            for (script, reason) in cases {
                try await fixture.connection.execute(script: script)
                let refusal = await refusal { try await fixture.attach(AttachFixture.definition(lists: lists)) }
                #expect(refusal?.contains(reason) == true, "\(script): \(refusal ?? "")")
                try await fixture.connection.execute(script: "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            }
        }
        #expect(try await fixture.texts("SELECT name FROM brocot.ordered_tables") == ["items"])
    }

    @Test(
        "With --owns-rows, brocot attach refuses a table with a rule ON INSERT or ON DELETE",
        arguments: ["INSERT", "DELETE"])
    func rule(event: String) async throws {
        let fixture = try await AttachFixture(
            "\(AttachFixture.tasks) CREATE RULE told AS ON \(event) TO tasks DO ALSO NOTIFY tasks")
        let refusal = await refusal { try await fixture.attacher.plan(AttachFixture.definition(ownsRows: true)) }
        #expect(refusal?.contains("this table has a rule ON INSERT or ON DELETE") == true, "\(refusal ?? "")")
        _ = try await fixture.attacher.plan(AttachFixture.definition())
    }

    @Test("brocot attach names the options that name the same column") func sameColumn() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        for (definition, reason) in [
            (AttachFixture.definition(lists: ["id"]), "--item and --list both name column \"id\""),
            (AttachFixture.definition(lists: ["title", "title"]), "--list names column \"title\" twice"),
            (AttachFixture.definition(rank: "project_id"), "--list and --rank both name column \"project_id\""),
            (AttachFixture.definition(rank: ""), "--rank is empty. Name the column of the sort key"),
        ] {
            let refusal = await refusal { try await fixture.attacher.plan(definition) }
            #expect(refusal == "public.tasks: \(reason)")
        }
    }

    @Test(
        "brocot attach of an attached table with other options says which options differ", .databaseWithAttachedTasks,
        arguments: [
            (
                AttachFixture.definition(lists: []),
                "--list was project_id and is now not given. To change them, detach it first: brocot detach public.tasks. Without "
                    + "--drop-columns, the"
            ),
            (
                AttachFixture.definition(visible: "(title IS NULL)", arriveNow: true),
                "--visible was not given and is now (title IS NULL); --arrive-now was not given and is now given. To change them, add "
                    + "--change-options. The"
            ),
        ])
    func otherOptions(definition: OrderDefinition, differences: String) async throws {
        let fixture = try await AttachFixture()
        let refusal = await refusal { try await fixture.attacher.plan(definition) }
        #expect(
            refusal == """
                public.tasks: it is already attached, with other options: \(differences) rows keep their order
                """)
    }

    @Test("brocot attach --change-options does not change the columns of an order", .databaseWithAttachedTasks)
    func changedColumns() async throws {
        let fixture = try await AttachFixture()
        let refusal = await refusal {
            try await fixture.attacher.plan(AttachFixture.definition(lists: []), mayChangeOptions: true)
        }
        #expect(
            refusal?.contains("--list was project_id and is now not given. To change them, detach it first") == true)
    }

    @Test("If --list contains the names of several columns, brocot attach says to repeat the option")
    func severalColumns() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        for (list, advice) in [
            ("project_id,title", ". Repeat --list for each column: --list project_id --list title"),
            ("project_id, title", ". Repeat --list for each column: --list project_id --list title"),
            ("project_id,nope", ""),
        ] {
            let refusal = await refusal { try await fixture.attacher.plan(AttachFixture.definition(lists: [list])) }
            #expect(
                refusal == "public.tasks: there is no column \"\(list)\"; it has id, project_id, title\(advice)")
        }
    }

    @Test(
        "If another table has an index with the name that attach would use, brocot attach says which table, and what to do"
    )
    func nameOfIndex() async throws {
        let fixture = try await AttachFixture(
            "CREATE TABLE task (id int PRIMARY KEY); CREATE TABLE task_list (id int PRIMARY KEY)")
        try await fixture.attach(AttachFixture.definition(table: "task", rank: "list_rank", lists: []))
        let refusal = await refusal {
            try await fixture.attacher.plan(AttachFixture.definition(table: "task_list", lists: []))
        }
        let reason = """
            table public.task has an index with the name that attach would use, "brocot_task_list_rank". It belongs to the order \
            public.task.list_rank. Choose another name for the rank column with --rank
            """
        #expect(refusal?.contains(reason) == true, "\(refusal ?? "")")
        try await fixture.attach(AttachFixture.definition(table: "task_list", rank: "place", lists: []))
    }

    @Test(
        "brocot attach changes nothing if something that is no index has the name of its index",
        arguments: [
            "TABLE brocot_tasks_rank (id int)", "SEQUENCE brocot_tasks_rank", "VIEW brocot_tasks_rank AS SELECT 1",
        ])
    func otherRelationWithNameOfIndex(object: String) async throws {
        let fixture = try await AttachFixture("\(AttachFixture.tasks) CREATE \(object);")
        let refusal = await refusal { try await fixture.attacher.plan(AttachFixture.definition()) }
        #expect(refusal == #"public.tasks: "brocot_tasks_rank" is not an index that Brocot created. Rename or drop it"#)
    }

    @Test("If another table took an index along under its new name, brocot attach says how to rename the index")
    func indexOfRenamedTable() async throws {
        let fixture = try await AttachFixture("CREATE TABLE tasks (id int PRIMARY KEY)")
        try await fixture.attach(AttachFixture.definition(lists: []))
        try await fixture.connection.execute(
            script: "ALTER TABLE tasks RENAME TO old_tasks; CREATE TABLE tasks (id int PRIMARY KEY)")
        let refusal = await refusal { try await fixture.attacher.plan(AttachFixture.definition(lists: [])) }
        #expect(
            refusal?.contains(
                #"table public.old_tasks has an index with the name that attach would use, "brocot_tasks_rank". That table may"#
            ) == true,
            "\(refusal ?? "")")
        #expect(refusal?.contains(#"ALTER INDEX "public"."brocot_tasks_rank" RENAME TO"#) == true)
    }

    @Test("A rank column can't have the name of a system column") func systemColumn() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        let refusal = await refusal { try await fixture.attacher.plan(AttachFixture.definition(rank: "ctid")) }
        #expect(refusal == "public.tasks: \"ctid\" is the name of a system column. Choose another name with --rank")
    }

    @Test("brocot attach says which name is wrong") func names() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        for (schema, table, reason) in [
            ("public", "\"tasks\"", "there is no table public.\"tasks\". Write names without quotes: public.tasks"),
            ("nosch", "tasks", "there is no schema nosch"), ("public", "nowhere", "there is no table public.nowhere"),
        ] {
            let refusal = await refusal {
                try await fixture.attacher.describe(OrderNames(schema: schema, table: table), listColumns: [])
            }
            #expect(refusal == reason)
        }
    }

    @Test("An order of the existing rows that the server does not understand is refused") func orderBy() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        let columns = try await fixture.attacher.plan(AttachFixture.definition()).columns
        let filling = Filling(columns, connection: fixture.connection, logger: .silent)
        try await filling.check(order: "title COLLATE \"C\" DESC NULLS LAST, project_id")
        let unknown = await refusal { try await filling.check(order: "nope") }
        #expect(unknown == "--order-by is not valid: column \"nope\" does not exist. Nothing was changed.")
        try await fixture.connection.execute(
            "CREATE FUNCTION place_of(text) RETURNS integer IMMUTABLE LANGUAGE sql RETURN length($1)")
        // Rows are placed with only pg_catalog in the search_path.
        let unqualified = await refusal { try await filling.check(order: "place_of(title)") }
        #expect(
            unqualified?.contains("does not exist. Write functions, types and collations outside of pg_catalog") == true
        )
        try await filling.check(order: "public.place_of(title)")
        try await filling.check(order: "title -- of the task")
        let number = await refusal { try await filling.check(order: "title, 2 DESC") }
        #expect(number?.contains("Write the names of columns, not their numbers.") == true, "\(number ?? "")")
        let constant = await refusal { try await filling.check(order: "'title'") }
        #expect(constant?.contains("non-integer constant in ORDER BY") == true, "\(constant ?? "")")
        let comment = await refusal { try await filling.check(order: "id)--") }
        #expect(comment?.hasPrefix("--order-by is not valid: syntax error") == true)
    }

    @Test(
        "Columns that have the names of the rank columns and contain other values are refused before anything is changed",
        arguments: [
            ("rank numeric", "rank = 7"),
            ("rank numeric, rank_num bigint, rank_den bigint", "rank = 7, rank_num = 1, rank_den = 2"),
        ]) func foreignRanks(columns: String, values: String) async throws
    {
        let fixture = try await AttachFixture(
            "CREATE TABLE tasks (id int PRIMARY KEY, project_id int, \(columns)); INSERT INTO tasks VALUES (1, 1)")
        func check() async -> String? {
            await refusal {
                try await fixture.attacher.requireOwnRanks(try await fixture.attacher.plan(AttachFixture.definition()))
            }
        }
        #expect(await check() == nil)
        try await fixture.connection.execute(script: "UPDATE tasks SET \(values)")
        #expect(await check()?.contains("Choose other names with --rank") == true)
    }

    @Test("A table of which a partition is detached in part is refused, and the command that finishes this is named")
    func pendingDetach() async throws {
        let fixture = try await AttachFixture(AttachFixture.partitionedTasks)
        let reader = try await TestDatabase.current.connect()
        try await reader.execute(script: "BEGIN; SELECT FROM tasks")
        // The second transaction of DETACH PARTITION CONCURRENTLY waits for the reader.
        let detachment = Task {
            try await fixture.connection.execute("ALTER TABLE tasks DETACH PARTITION tasks_1 CONCURRENTLY")
        }
        try await TestDatabase.current.waitUntilBlocked(fixture.connection, by: reader)
        try await reader.execute(
            "SELECT pg_cancel_backend(\(Int(fixture.connection.backendProcessIdentifier))::integer)")
        await #expect(throws: PostgresError.self) { try await detachment.value(until: "the cancelled DETACH ended") }
        try await reader.execute(script: "COMMIT")
        let refusal = await refusal { try await fixture.attacher.plan(AttachFixture.definition()) }
        let command = "ALTER TABLE public.tasks DETACH PARTITION public.tasks_1 FINALIZE"
        #expect(refusal?.hasSuffix("If no session does that now: \(command)") == true, "\(refusal ?? "")")
        try await fixture.connection.execute(SQL(unsafeRaw: command))
        try await fixture.attach()
    }

    @Test("A role that may not change the table, or sees only a part of its rows, is told so") func otherRole()
        async throws
    {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.connection.execute("ALTER TABLE tasks ENABLE ROW LEVEL SECURITY")
        let definition = AttachFixture.definition()
        let table = try await fixture.asOtherRole {
            try await fixture.attacher.describe(definition.names, listColumns: definition.listColumns)
        }
        let plan = try AttachPlan(definition, on: table)
        let owner = await refusal {
            try fixture.attacher.requireOwners(
                of: table, definition.names, for: plan.steps, printedBy: "brocot attach --sql")
        }
        #expect(owner?.hasPrefix("public.tasks belongs to postgres. Run this as a member of postgres") == true)
        let both = await refusal {
            try fixture.attacher.requireOwners(
                of: table, definition.names, for: [], printedBy: "brocot attach --sql", fills: true)
        }
        #expect(both?.contains("Only the rows are left to be placed, which needs the rights of both") == true)
        let rows = await refusal { try fixture.attacher.requireAllRows(of: table, definition.names) }
        #expect(rows?.contains("row-level security hides rows from this role") == true)
    }

    @Test("A role that does not inherit the rights of the schema's owner is told so, and changes nothing")
    func withoutInheritance() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        let definition = AttachFixture.definition()
        let table = try await TestRole.with(["owner", "other"], owner: fixture.connection) { roles in
            let (owner, role) = (roles[0].name, roles[1].name)
            try await fixture.connection.execute(
                script: """
                    GRANT USAGE ON SCHEMA brocot TO \(owner); ALTER TABLE brocot.ordered_tables OWNER TO \(owner);
                    ALTER ROLE \(role) NOINHERIT; GRANT \(owner) TO \(role); ALTER TABLE tasks OWNER TO \(role);
                    GRANT USAGE ON SCHEMA brocot TO \(role); GRANT SELECT ON brocot.ordered_tables TO \(role); SET ROLE \(role)
                    """)
            return try await fixture.attacher.describe(definition.names, listColumns: definition.listColumns)
        }
        let plan = try AttachPlan(definition, on: table)
        let reason = await refusal {
            try fixture.attacher.requireOwners(
                of: table, definition.names, for: plan.steps, printedBy: "brocot attach --sql", fills: true)
        }
        #expect(reason?.contains("this role is a member that does not inherit its rights") == true, "\(reason ?? "")")
        // Without rows to place, SET ROLE is enough.
        try fixture.attacher.requireOwners(
            of: table, definition.names, for: plan.steps, printedBy: "brocot attach --sql")
    }

    @Test(
        "A lock that somebody else keeps ends the wait of brocot attach, the session is named, and the settings are reset"
    ) func lock()
        async throws
    {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(
            "SELECT set_config('application_name', 'squatter', false), pg_advisory_lock(\(CommandLock.advisoryLock.key))"
        )
        let attacher = Attacher(
            connection: fixture.connection, logger: .silent, patience: .milliseconds(200))
        let error = await #expect(throws: AttachError.self) {
            try await attacher.exclusively { () async throws(AttachError) in Issue.record("it ran") }
        }
        guard case .busy(let holders, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(holders.map(\.description) == ["process \(holder.backendProcessIdentifier) (user postgres, squatter)"])
        let settings = try await fixture.connection.query(
            """
            SELECT FROM pg_settings
            WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'default_transaction_read_only')
                AND source = 'session'
            """)
        #expect(settings.isEmpty)
    }
}
