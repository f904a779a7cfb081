import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Conditions of visibility that fail", .database, .usualTimeLimit)
struct FailingConditionTests {
    /// Tasks of one project, attached with this condition.
    private func attachTasks(visible: String, after script: String = "") async throws -> Connection {
        let connection = try await TestDatabase.current.observer
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id int PRIMARY KEY, project_id int, settings jsonb NOT NULL DEFAULT '{}');
                INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 4) AS n; \(script)
                """)
        let attached = try await BrocotProcess.run(
            "attach", "public.tasks", "--item", "id", "--list", "project_id", "--visible", visible)
        #expect(attached.exitCode == 0, "\(attached.errors)")
        return connection
    }

    private func order(_ connection: Connection) async throws -> String {
        try await connection.query(
            "SELECT string_agg(id::text, '' ORDER BY rank) FROM tasks WHERE rank IS NOT NULL"
        ).single().decode(0)
    }

    @Test("A row for which the condition fails keeps only moves to a position from being applied")
    func oneRow() async throws {
        let connection = try await attachTasks(visible: "(settings ->> 'hidden')::boolean IS NOT TRUE")
        try await connection.execute(
            script: """
                INSERT INTO tasks VALUES (5, 1, '{"hidden": "maybe"}');
                SELECT brocot.move(1, 3, first => true, ordered_table => 'public.tasks');
                SELECT brocot.move(1, 2, at => 3, ordered_table => 'public.tasks');
                SELECT brocot.move(1, 4, after => 5, ordered_table => 'public.tasks');
                INSERT INTO tasks VALUES (6, 1);
                """)
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 0)
        #expect(try await order(connection) == "312546")
        let rejected = try await connection.query(
            "SELECT position, sqlstate FROM brocot.move_log WHERE outcome <> 'applied'")
        #expect(try rejected.map { try $0.decode(1, as: String.self) } == ["22P02"])

        for command in [["check"], ["check", "--repair"], ["doctor"]] {
            let result = try await BrocotProcess.run(command)
            #expect(result.exitCode == 7, "\(command)")
            let fault =
                "the condition of visibility, (((settings ->> 'hidden'::text))::boolean IS NOT TRUE), fails for a row: invalid input"
            #expect(result.output.contains(fault) && result.output.contains("--change-options"), "\(result.output)")
        }
        try await connection.execute(script: "UPDATE tasks SET settings = '{\"hidden\": true}' WHERE id = 5")
        for command in ["check", "doctor"] {
            #expect(try await BrocotProcess.run(command).output.contains("fails for a row") == false)
        }
        try await connection.execute(script: "SELECT brocot.move(1, 2, at => 3, ordered_table => 'public.tasks')")
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 0)
        #expect(try await order(connection) == "315426")
    }

    @Test("A drain ends with status 7 if the function of the condition was dropped")
    func droppedFunction() async throws {
        let connection = try await attachTasks(
            visible: "public.is_shown(id)",
            after: "CREATE FUNCTION is_shown(id int) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN id > 0")
        try await connection.execute(
            script: """
                DROP FUNCTION is_shown; SELECT brocot.move(1, 3, at => 1, ordered_table => 'public.tasks')
                """)
        let drained = try await BrocotProcess.run("daemon", "--drain")
        #expect(drained.exitCode == 7, "\(drained.errors)")
        #expect(
            drained.errors.contains("A function, type or schema is missing. Run brocot doctor."), "\(drained.errors)")
        let doctor = try await BrocotProcess.run("doctor")
        #expect(doctor.exitCode == 7 && doctor.output.contains("function public.is_shown(integer) does not exist"))
    }
}
