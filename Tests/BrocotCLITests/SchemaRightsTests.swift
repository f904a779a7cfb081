import LibPQ
import TestPostgres
import Testing

@Suite("Schemas that a role may not use", .database(migrated: false), .timeLimit(.minutes(30)))
struct SchemaRightsTests {
    /// Schema `brocot` belongs to one role, the table and its schema to another one, and a third one is a member of both.
    private struct Roles {
        let owner: Connection
        var base: String { "role_of_\(TestDatabase.current.name)" }
        var schemaOwner: String { "\(base)_brocot" }
        var tableOwner: String { "\(base)_app" }
        var both: String { "\(base)_both" }
        var web: String { "\(base)_web" }

        func url(_ role: String) -> String {
            TestDatabase.current.url.replacing("//postgres@", with: "//\(role)@")
        }

        static func with(_ body: (Roles) async throws -> Void) async throws {
            let roles = Roles(owner: try await TestDatabase.current.connect())
            try await roles.owner.execute(
                script: """
                    CREATE ROLE \(roles.schemaOwner) LOGIN; CREATE ROLE \(roles.tableOwner) LOGIN; CREATE ROLE \(roles.web) LOGIN;
                    CREATE ROLE \(roles.both) LOGIN IN ROLE \(roles.schemaOwner), \(roles.tableOwner);
                    GRANT CREATE ON DATABASE \(TestDatabase.current.name) TO \(roles.schemaOwner), \(roles.tableOwner);
                    """)
            do {
                try await body(roles)
            } catch {
                try await roles.drop()
                throw error
            }
            try await roles.drop()
        }

        private func drop() async throws {
            for role in [both, web, tableOwner, schemaOwner] {
                try await owner.execute(script: "RESET ROLE; DROP OWNED BY \(role) CASCADE; DROP ROLE \(role)")
            }
        }

        func brocot(_ arguments: String...) async throws {
            let result = try await BrocotProcess.run(arguments, databaseURL: url(both))
            #expect(result.exitCode == 0, "\(arguments): \(result.errors)")
        }

        func attach(_ table: String, _ options: [String]) async throws {
            let migrated = try await BrocotProcess.run("migrate", "up", databaseURL: url(schemaOwner))
            #expect(migrated.exitCode == 0, "\(migrated.errors)")
            try await owner.execute(script: "SET ROLE \(tableOwner); \(table); RESET ROLE")
            let attached = try await BrocotProcess.run(
                ["attach", "app.tasks", "--item", "id", "--list", "mood"] + options, databaseURL: url(both))
            #expect(attached.exitCode == 0, "\(attached.errors)")
        }

        func unplaced() async throws -> Int {
            try await owner.query("SELECT count(*) FROM app.tasks WHERE rank IS NULL").single().decode(0)
        }
    }

    private static let table = """
        CREATE SCHEMA app; CREATE TYPE app.mood AS ENUM ('good', 'bad');
        CREATE TABLE app.tasks (id bigint PRIMARY KEY, mood app.mood NOT NULL); INSERT INTO app.tasks VALUES (1, 'good')
        """

    @Test(
        "The owner of schema brocot need not have the right to use the table's schema",
        arguments: [[], ["--arrive-now"]])
    func schemaOwner(options: [String]) async throws {
        try await Roles.with { roles in
            try await roles.attach(Self.table, options)
            try await roles.owner.execute(
                script: """
                    SET ROLE \(roles.tableOwner);
                    INSERT INTO app.tasks VALUES (2, 'good'), (3, 'good'); UPDATE app.tasks SET mood = 'bad' WHERE id = 1;
                    RESET ROLE
                    """)
            try await roles.brocot("daemon", "--drain")
            #expect(try await roles.unplaced() == 0)
            try await roles.brocot("check")
            try await roles.brocot("detach", "app.tasks", "--drop-columns")
        }
    }

    @Test("A role that inserts through a view needs no right to use the table's schema, with --arrive-now too")
    func view() async throws {
        try await Roles.with { roles in
            try await roles.attach(
                """
                \(Self.table); CREATE SCHEMA api; CREATE VIEW api.tasks AS SELECT id, mood FROM app.tasks;
                GRANT USAGE ON SCHEMA api TO \(roles.web); GRANT INSERT ON api.tasks TO \(roles.web)
                """, ["--arrive-now"])
            try await roles.owner.execute(
                script: "SET ROLE \(roles.web); INSERT INTO api.tasks VALUES (2, 'good'); RESET ROLE")
            try await roles.brocot("daemon", "--drain")
            #expect(try await roles.unplaced() == 0)
        }
    }

    @Test("brocot detach changes nothing if the role may not remove the order from the registry")
    func detach() async throws {
        try await Roles.with { roles in
            try await roles.attach(Self.table, [])
            try await roles.owner.execute(script: "GRANT USAGE ON SCHEMA brocot TO \(roles.tableOwner)")
            try await roles.owner.execute(
                script: "GRANT SELECT ON ALL TABLES IN SCHEMA brocot TO \(roles.tableOwner)")
            let result = try await BrocotProcess.run("detach", "app.tasks", databaseURL: roles.url(roles.tableOwner))
            #expect(result.exitCode == 2)
            #expect(result.errors.contains("schema brocot belongs to \(roles.schemaOwner)"), "\(result.errors)")
            try await roles.brocot("check")
        }
    }
}
