import LibPQ
import TestPostgres
import Testing

@Suite("What commands advise", .database, .timeLimit(.minutes(30))) struct AdviceTests {
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
                "The rows of the table have no place. To place them: brocot check --repair --place-rows --table public.tasks"
            ),
            "\(again.errors)")
    }
}
