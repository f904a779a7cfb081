import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Schemas that a role may not use", .database(migrated: false), .usualTimeLimit)
struct SchemaRightsTests {
    /// Schema `brocot` belongs to one role, the table and its schema to another one, and a third one is a member of both.
    private struct Roles {
        let owner: Connection
        let schemaOwner: TestRole
        let tableOwner: TestRole
        let both: TestRole
        let web: TestRole

        static func with(_ body: (Roles) async throws -> Void) async throws {
            let owner = try await TestDatabase.current.connect()
            try await TestRole.with(["both", "web", "app", "brocot"], owner: owner) { roles in
                let (both, web, tableOwner, schemaOwner) = (roles[0], roles[1], roles[2], roles[3])
                try await owner.execute(
                    script: """
                        GRANT \(schemaOwner.name), \(tableOwner.name) TO \(both.name);
                        GRANT CREATE ON DATABASE \(TestDatabase.current.name) TO \(schemaOwner.name), \(tableOwner.name);
                        """)
                try await body(
                    Roles(owner: owner, schemaOwner: schemaOwner, tableOwner: tableOwner, both: both, web: web))
            }
        }

        func brocot(_ arguments: String...) async throws {
            let result = try await BrocotProcess.run(arguments, databaseURL: both.url)
            #expect(result.exitCode == 0, "\(arguments): \(result.errors)")
        }

        func attach(_ table: String, _ options: [String]) async throws {
            let migrated = try await BrocotProcess.run("migrate", "up", databaseURL: schemaOwner.url)
            #expect(migrated.exitCode == 0, "\(migrated.errors)")
            try await owner.execute(script: "SET ROLE \(tableOwner.name); \(table); RESET ROLE")
            let attached = try await BrocotProcess.run(
                ["attach", "app.tasks", "--item", "id", "--list", "mood"] + options, databaseURL: both.url)
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
                    SET ROLE \(roles.tableOwner.name);
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
                GRANT USAGE ON SCHEMA api TO \(roles.web.name); GRANT INSERT ON api.tasks TO \(roles.web.name)
                """, ["--arrive-now"])
            try await roles.owner.execute(
                script: "SET ROLE \(roles.web.name); INSERT INTO api.tasks VALUES (2, 'good'); RESET ROLE")
            try await roles.brocot("daemon", "--drain")
            #expect(try await roles.unplaced() == 0)
        }
    }

    @Test("brocot detach changes nothing if the role may not remove the order from the registry")
    func detach() async throws {
        try await Roles.with { roles in
            try await roles.attach(Self.table, [])
            try await roles.owner.execute(script: "GRANT USAGE ON SCHEMA brocot TO \(roles.tableOwner.name)")
            try await roles.owner.execute(
                script: "GRANT SELECT ON ALL TABLES IN SCHEMA brocot TO \(roles.tableOwner.name)")
            let result = try await BrocotProcess.run("detach", "app.tasks", databaseURL: roles.tableOwner.url)
            #expect(result.exitCode == 2)
            #expect(
                result.errors.contains("brocot.ordered_tables belongs to \(roles.schemaOwner.name)"), "\(result.errors)"
            )
            try await roles.brocot("check")
        }
    }
}
