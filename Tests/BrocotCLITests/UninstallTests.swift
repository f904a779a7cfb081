import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Uninstalling", .database(migrated: false), .usualTimeLimit) struct UninstallTests {
    @Test("The documented steps leave nothing of Brocot in the database, and the user's table as it was")
    func nothingStays() async throws {
        let connection = try await TestDatabase.current.connect()
        let role = "daemon_of_\(TestDatabase.current.name)"
        try await connection.execute(
            script: """
                CREATE ROLE \(role);
                CREATE TABLE tasks (id int PRIMARY KEY, project_id int, title text);
                INSERT INTO tasks VALUES (1, 7, 'milk'), (2, 7, 'eggs');
                """)
        let before = try await Self.objects(connection)
        for command in [
            ["migrate", "up"], ["attach", "public.tasks", "--item", "id", "--list", "project_id", "--arrive-now"],
            ["grant", "daemon", role], ["grant", "requester", role], ["grant", "mover", role],
        ] {
            let result = try await BrocotProcess.run(command)
            #expect(result.exitCode == 0, "\(command): \(result.errors)")
        }
        try await connection.execute(
            "SELECT brocot.move_now(7, 2, first => true, ordered_table => 'public.tasks'), brocot.move('l', 'a', last => true)"
        )
        for step in try Self.documentedSteps() {
            switch step {
            case .brocot(let arguments):
                let result = try await BrocotProcess.run(arguments)
                #expect(result.exitCode == 0, "\(arguments): \(result.errors)")
            case .sql(let statement):
                try await connection.execute(script: statement.replacing("brocot_daemon", with: role))
            }
        }
        #expect(try await Self.objects(connection) == before)
        #expect(try await connection.query("SELECT FROM pg_roles WHERE rolname = \(role)").isEmpty)
        #expect(try await connection.query("SELECT FROM tasks").count == 2)
    }

    private enum Step {
        case brocot([String])
        case sql(String)
    }

    /// The commands of the first block below "Uninstalling" in docs/operations.md, without those for systemd.
    private static func documentedSteps() throws -> [Step] {
        let page = try Repository.text(of: "docs/operations.md")
        let chapter = try #require(page.firstRange(of: "\n## Uninstalling\n"))
        let block = try #require(page[chapter.upperBound...].split(separator: "```", maxSplits: 2).dropFirst().first)
        let steps = block.split(separator: "\n").flatMap { line -> [Step] in
            let command = line.split(separator: "#")[0]
            if command.hasPrefix("brocot ") {
                return [.brocot(command.split(separator: " ").dropFirst().map(String.init))]
            }
            return command.matches(of: /-c '([^']+)'/).map { .sql(String($0.1)) }
        }
        #expect(steps.count == 4, "\(steps)")
        return steps
    }

    /// The objects of the database by their names, with the columns, constraints, indexes, triggers and comments of the user's table.
    private static func objects(_ connection: Connection) async throws -> [String] {
        try await connection.query(
            """
            SELECT concat_ws(' ', found.class::regclass, identity.type, identity.identity)
            FROM (
                SELECT 'pg_class'::regclass, oid, 0 FROM pg_class
                UNION ALL SELECT 'pg_class'::regclass, attrelid, attnum FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped
                UNION ALL SELECT 'pg_proc'::regclass, oid, 0 FROM pg_proc
                UNION ALL SELECT 'pg_type'::regclass, oid, 0 FROM pg_type
                UNION ALL SELECT 'pg_constraint'::regclass, oid, 0 FROM pg_constraint
                UNION ALL SELECT 'pg_trigger'::regclass, oid, 0 FROM pg_trigger
                UNION ALL SELECT 'pg_namespace'::regclass, oid, 0 FROM pg_namespace
                UNION ALL SELECT 'pg_default_acl'::regclass, oid, 0 FROM pg_default_acl
                UNION ALL SELECT 'pg_event_trigger'::regclass, oid, 0 FROM pg_event_trigger
            ) AS found (class, object, part), pg_identify_object(found.class, found.object, found.part) AS identity
            WHERE identity.schema IS DISTINCT FROM 'pg_toast'
            ORDER BY 1
            """
        ).map { try $0.decode(0, as: String.self) }
    }
}
