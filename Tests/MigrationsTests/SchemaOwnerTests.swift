import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Migrations

/// Migrations run as the owner of schema `brocot`, whoever runs them.
@Suite("The owner of the schema", .database(migrated: false), .usualTimeLimit) struct SchemaOwnerTests {
    private static let first = """
        CREATE TABLE brocot.a (id bigint GENERATED ALWAYS AS IDENTITY);
        CREATE FUNCTION brocot.f() RETURNS integer LANGUAGE sql RETURN 1;
        """
    private static let second = "CREATE OR REPLACE FUNCTION brocot.f() RETURNS integer LANGUAGE sql RETURN 2"

    @Test("All objects belong to the owner of the schema if a superuser that was granted this role migrates")
    func superuser() async throws {
        let superuser = try await TestDatabase.current.connect()
        try await TestRole.with("owner", owner: superuser) { role throws in
            try await superuser.execute(
                script: "CREATE SCHEMA brocot AUTHORIZATION \(role.name); GRANT \(role.name) TO CURRENT_USER")
            _ = try await Migrator(connection: superuser, set: try migrations(Self.first)).up()
            try await expectUpgrade(by: role, superuser)
            let user = try await superuser.query("SELECT current_user = session_user").single()
            #expect(try user.decode(0, as: Bool.self))
        }
    }

    @Test("All objects belong to the owner of the schema if a member of this role migrates")
    func member() async throws {
        let superuser = try await TestDatabase.current.connect()
        try await TestRole.with(["owner", "member"], owner: superuser) { roles throws in
            try await superuser.execute(
                script:
                    "CREATE SCHEMA brocot AUTHORIZATION \(roles[0].name); GRANT \(roles[0].name) TO \(roles[1].name)")
            _ = try await Migrator(connection: try await roles[1].connect(), set: try migrations(Self.first)).up()
            try await expectUpgrade(by: roles[0], superuser)
        }
    }

    @Test("All objects belong to the owner of the schema if a superuser runs the printed script")
    func script() async throws {
        let superuser = try await TestDatabase.current.connect()
        try await TestRole.with("owner", owner: superuser) { role throws in
            try await superuser.execute(
                script: "CREATE SCHEMA brocot AUTHORIZATION \(role.name); GRANT \(role.name) TO CURRENT_USER")
            let status = try await Migrator(connection: superuser, set: try migrations(Self.first, "SELECT 1;"))
                .status()
            let script = status.script(lockTimeout: .seconds(60))
            try await superuser.execute(script: script)
            let error = await superuser.refusal(ofScript: script)
            #expect(error?.message == "schema brocot exists already")
            try await superuser.execute(script: "ROLLBACK")
            try await expectOwner(role, superuser)
        }
    }

    @Test("A role does not become a superuser who owns the schema, even if it may")
    func schemaOfASuperuser() async throws {
        let superuser = try await TestDatabase.current.connect()
        try await TestRole.with("member", owner: superuser) { role throws in
            try await superuser.execute(
                script: """
                    CREATE SCHEMA brocot; GRANT CREATE, USAGE ON SCHEMA brocot TO \(role.name);
                    DO $$ BEGIN EXECUTE format('GRANT %I TO \(role.name)', current_user); END $$
                    """)
            _ = try await Migrator(connection: try await role.connect(), set: try migrations(Self.first)).up()
            try await expectOwner(role, superuser)
        }
    }

    @Test(
        "migrate up names objects that the schema's owner can't replace, and the documented statement gives them to the owner"
    )
    func objectsOfASuperuser() async throws {
        let superuser = try await TestDatabase.current.connect()
        try await TestRole.with("owner", owner: superuser) { role throws in
            let earlier = try MigrationSet(
                files: MigrationSet.embedded.migrations.dropLast().map {
                    (name: "\($0.version)_\($0.name).sql", text: $0.sql)
                },
                directory: "dir")
            _ = try await Migrator(connection: superuser, set: earlier).up()
            try await superuser.execute("ALTER SCHEMA brocot OWNER TO \(identifier: role.name)")
            let migrator = Migrator(connection: try await role.connect())
            // The owner may not read the history, and then it may.
            for grant in ["SELECT 1", "GRANT SELECT ON brocot.schema_migrations TO \(role.name)"] {
                try await superuser.execute(script: grant)
                let error = try #require(await #expect(throws: MigrationError.self) { try await migrator.up() })
                guard case .objectsOfOthers(let objects, owner: role.name) = error else { throw error }
                #expect(objects.contains(ForeignObject(name: "TABLE brocot.items", owner: "postgres")))
                #expect(!objects.contains { $0.name == "SEQUENCE brocot.move_requests_id_seq" })
                #expect("\(error)".contains("  ALTER TABLE brocot.held_lists OWNER TO \"\(role.name)\";"), "\(error)")
                for object in objects { try await expectAlterable(object, role, superuser) }
            }
            try await superuser.execute(script: try Self.documentedStatement())
            try await expectOwner(role, superuser)
            #expect(try await migrator.up().count == 1)
        }
    }

    @Test("The schema's owner is told how it gets what a member of it has made, and not to drop it")
    func objectsOfAMember() async throws {
        let superuser = try await TestDatabase.current.connect()
        try await TestRole.with(["owner", "member"], owner: superuser) { roles throws in
            let database = SQL(unsafeRaw: quoteIdentifier(TestDatabase.current.name))
            try await superuser.execute("GRANT CREATE ON DATABASE \(database) TO \(identifier: roles[0].name)")
            let owner = try await roles[0].connect()
            _ = try await Migrator(connection: owner, set: try migrations(Self.first)).up()
            try await superuser.execute(
                script: """
                    GRANT \(roles[0].name) TO \(roles[1].name);
                    CREATE TYPE brocot.made_by_member AS ENUM ('a'); ALTER TYPE brocot.made_by_member OWNER TO \(roles[1].name)
                    """)
            let migrator = Migrator(connection: owner, set: try migrations(Self.first, Self.second))
            let error = try #require(await #expect(throws: MigrationError.self) { try await migrator.up() })
            guard case .objectsOfOthers(let objects, owner: roles[0].name) = error else { throw error }
            #expect(objects == [ForeignObject(name: "TYPE brocot.made_by_member", owner: roles[1].name)])
        }
    }

    // MARK: Steps

    /// The objects belong to the role, which can replace a function of an earlier migration.
    private func expectUpgrade(by role: TestRole, _ superuser: Connection) async throws {
        try await expectOwner(role, superuser)
        let migrator = Migrator(connection: try await role.connect(), set: try migrations(Self.first, Self.second))
        #expect(try await migrator.up().count == 1)
    }

    private func expectOwner(_ role: TestRole, _ superuser: Connection) async throws {
        let others = try await superuser.query(
            """
            SELECT relname::text FROM pg_class
            WHERE relnamespace = 'brocot'::regnamespace AND relowner <> \(role.name)::regrole
            UNION ALL
            SELECT proname FROM pg_proc WHERE pronamespace = 'brocot'::regnamespace AND proowner <> \(role.name)::regrole
            UNION ALL
            SELECT typname FROM pg_type WHERE typnamespace = 'brocot'::regnamespace AND typowner <> \(role.name)::regrole
            """)
        #expect(try others.map { try $0.decode(0, as: String.self) } == [])
    }

    /// The statement that the error prints is one that the server accepts.
    private func expectAlterable(_ object: ForeignObject, _ role: TestRole, _ superuser: Connection) async throws {
        try await superuser.execute(script: "BEGIN; ALTER \(object.name) OWNER TO \(role.name); ROLLBACK")
    }

    private static func documentedStatement() throws -> String {
        let page = try Repository.text(of: "docs/operations.md")
        let blocks = page.split(separator: "```sql\n").dropFirst().map { $0.prefix { $0 != "`" } }
        return String(try #require(blocks.first { $0.contains("OWNER TO") }))
    }
}
