import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("What commands advise", .database, .usualTimeLimit) struct AdviceTests {
    @Test("attach, detach and check of a role without rights on schema brocot say who has them") func owner()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("CREATE TABLE tasks (id int PRIMARY KEY)")
        try await TestRole.with("nobody", owner: connection) { role in
            for command in [["attach", "tasks", "--item", "id"], ["detach", "tasks"], ["check"]] {
                let result = try await BrocotProcess.run(command, databaseURL: role.url)
                #expect(result.exitCode == 1)
                #expect(
                    result.errors.contains(
                        "→ Run this as the owner of schema brocot (postgres), or as a member of that role."),
                    "\(result.errors)")
            }
        }
    }

    @Test("If brocot.ordered_tables belongs to another role, attach, detach and check name this role") func registry()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("CREATE TABLE tasks (id int PRIMARY KEY)")
        #expect(try await BrocotProcess.run("attach", "tasks", "--item", "id").exitCode == 0)
        try await TestRole.with(["member", "table_owner", "registry_owner"], owner: connection) { roles in
            let (member, table, registry) = (roles[0], roles[1].name, roles[2].name)
            try await connection.execute(
                script: """
                    GRANT \(table) TO \(member.name); ALTER TABLE tasks OWNER TO \(table); GRANT USAGE ON SCHEMA brocot TO \(member.name);
                    GRANT SELECT ON brocot.schema_migrations TO \(member.name); ALTER TABLE brocot.ordered_tables OWNER TO \(registry)
                    """)
            for command in [["attach", "public.tasks", "--item", "id"], ["detach", "public.tasks"]] {
                let result = try await BrocotProcess.run(command, databaseURL: member.url)
                #expect(
                    result.errors.contains("public.tasks belongs to \(table), schema brocot to \(registry)."),
                    "\(result.errors)")
            }
            let check = try await BrocotProcess.run("check", databaseURL: member.url)
            #expect(check.exitCode == 1)
            #expect(
                check.errors.contains(
                    "→ Run this as the owner of brocot.ordered_tables (\(registry)), or as a member of that role."),
                "\(check.errors)")
            try await connection.execute("ALTER TABLE brocot.ordered_tables OWNER TO postgres")
        }
    }

    @Test("import by a member of the owner of schema brocot without a right on the table advises the rights of a mover")
    func importRights() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("CREATE TABLE songs (list int, song int, PRIMARY KEY (list, song))")
        let attach = ["attach", "songs", "--item", "song", "--list", "list", "--owns-rows"]
        #expect(try await BrocotProcess.run(attach).exitCode == 0)
        try await TestRole.with(["importer", "table_owner"], owner: connection) { roles in
            try await connection.execute(
                script: """
                    ALTER TABLE songs OWNER TO \(roles[1].name);
                    GRANT postgres TO \(roles[0].name)
                    """)
            let result = try await BrocotProcess.run(
                "import", "1", "--table", "public.songs", databaseURL: roles[0].url, input: "1\n")
            #expect(result.exitCode == 1)
            #expect(
                result.errors.contains("→ As the owner of schema brocot: brocot grant mover \(roles[0].name)"),
                "\(result.errors)")
            try await connection.execute("REVOKE postgres FROM \(identifier: roles[0].name)")
        }
    }

    @Test("migrate verify of a role that may not create a schema says which right it needs") func creation()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await TestRole.with("owner", owner: connection) { role in
            try await connection.execute(
                script: """
                    DROP SCHEMA brocot CASCADE; CREATE SCHEMA brocot AUTHORIZATION "\(role.name)";
                    """)
            #expect(try await BrocotProcess.run(["migrate", "up"], databaseURL: role.url).exitCode == 0)
            let result = try await BrocotProcess.run(["migrate", "verify"], databaseURL: role.url)
            #expect(result.exitCode == 1)
            #expect(result.errors.contains("GRANT CREATE ON DATABASE … TO this role."), "\(result.errors)")
            try await connection.execute("DROP SCHEMA brocot CASCADE")
        }
    }

    @Test("attach of a table that was dropped and created anew says how its rows get a place") func recreated()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        let table = "CREATE TABLE tasks (id int PRIMARY KEY); INSERT INTO tasks VALUES (1), (2);"
        try await connection.execute(script: table)
        let attach = ["attach", "tasks", "--item", "id"]
        #expect(try await BrocotProcess.run(attach).exitCode == 0)
        try await connection.execute(script: "DROP TABLE tasks; \(table)")
        let again = try await BrocotProcess.run(attach)
        #expect(again.exitCode == 0)
        #expect(
            again.errors.contains(
                "The rows of the table have no place. To place them: brocot check --repair --place-rows --table public.tasks. For another"
            ),
            "\(again.errors)")
        #expect(
            again.errors.contains("brocot detach public.tasks, and then brocot attach with --order-by"),
            "\(again.errors)")
    }

    @Test("A statement that statement_timeout ends is reported with advice") func tooSlow() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "BEGIN; LOCK TABLE brocot.items IN ACCESS EXCLUSIVE MODE")
        let result = try await BrocotProcess.run("show", "l", environment: ["PGOPTIONS": "-c statement_timeout=100"])
        #expect(result.exitCode == 1 && result.errors.contains("(SQLSTATE 57014)"), "\(result.errors)")
        #expect(result.errors.contains("ALTER ROLE … SET statement_timeout"), "\(result.errors)")
    }
}
