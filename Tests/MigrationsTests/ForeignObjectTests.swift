import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Migrations

/// The owner of an object in schema `brocot` can run code with the rights of the role that migrates.
@Suite("Objects of other roles in schema brocot", .database(migrated: false), .usualTimeLimit)
struct ForeignObjectTests {
    @Test("migrate up refuses a schema and a history that another role made, and runs none of their triggers")
    func premadeHistory() async throws {
        try await withRole { role, owner in
            try await owner.execute(
                script: """
                    SET ROLE \(role);
                    CREATE SCHEMA brocot;
                    CREATE TABLE brocot.schema_migrations (
                        version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
                        applied_at timestamptz NOT NULL DEFAULT clock_timestamp(), duration interval NOT NULL);
                    CREATE FUNCTION brocot.take_over() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN ALTER ROLE \(role) SUPERUSER; RETURN NEW; END $$;
                    CREATE TRIGGER take_over BEFORE INSERT ON brocot.schema_migrations
                        FOR EACH ROW EXECUTE FUNCTION brocot.take_over();
                    RESET ROLE;
                    """)
            let (objects, isFirstRun) = try await refusal { try await Migrator(connection: owner).up() }
            #expect(
                objects.map(\.name) == [
                    "schema brocot", "function brocot.take_over()", "table brocot.schema_migrations",
                    "trigger take_over on brocot.schema_migrations",
                ])
            #expect(objects.allSatisfy { $0.owner == role })
            #expect(!isFirstRun)
            try await expectNothingHappened(role, owner)
        }
    }

    @Test("migrate up and verify do not read another role's history, because reading a view runs its functions")
    func premadeView() async throws {
        try await withRole { role, owner in
            try await owner.execute(
                script: """
                    SET ROLE \(role);
                    CREATE SCHEMA brocot;
                    CREATE FUNCTION brocot.take_over() RETURNS integer LANGUAGE plpgsql AS
                        $$ BEGIN ALTER ROLE \(role) SUPERUSER; RETURN 1; END $$;
                    CREATE VIEW brocot.schema_migrations AS
                        SELECT brocot.take_over() AS version, ''::text AS name, ''::text AS checksum, now() AS applied_at,
                            interval '0' AS duration;
                    RESET ROLE;
                    """)
            let migrator = Migrator(connection: owner)
            _ = try await refusal { try await migrator.up() }
            _ = try await refusal { try await migrator.verify() }
            _ = try await refusal { try await migrator.status() }
            try await expectNothingHappened(role, owner)
        }
    }

    @Test("The first migration refuses any object in the schema, of any owner") func occupiedSchema() async throws {
        let owner = try await TestDatabase.current.connect()
        for statement in [
            "CREATE FUNCTION brocot.list_lock_key(varchar, varchar) RETURNS bigint LANGUAGE sql RETURN 1",
            "CREATE TABLE brocot.items ()", "CREATE TYPE brocot.items AS (a text)", "CREATE DOMAIN brocot.move AS text",
            "CREATE TABLE brocot.schema_migrations ()", "CREATE SEQUENCE brocot.sleepers",
            "CREATE OPERATOR brocot.= (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq)",
        ] {
            try await owner.execute(script: "CREATE SCHEMA brocot; \(statement)")
            let (objects, isFirstRun) = try await refusal { try await Migrator(connection: owner).up() }
            #expect(objects.count == 1, "\(statement): \(objects)")
            #expect(isFirstRun, "\(statement)")
            try await owner.execute(script: "DROP SCHEMA brocot CASCADE")
        }
    }

    @Test("Objects of other schemas that name schema brocot do not count as objects in it") func namedElsewhere()
        async throws
    {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                CREATE SCHEMA brocot;
                CREATE FUNCTION public.name() RETURNS regnamespace RETURN 'brocot'::regnamespace;
                CREATE TABLE public.names (name regnamespace DEFAULT 'brocot'::regnamespace);
                CREATE VIEW public.all_names AS SELECT 'brocot'::regnamespace;
                """)
        #expect(try await Migrator(connection: owner, set: try migrations("SELECT 1")).up().count == 1)
    }

    @Test(
        "migrate up says that the history is missing if the schema was restored without it, and does not advise to drop the objects"
    )
    func lostHistory() async throws {
        let owner = try await TestDatabase.current.connect()
        let migrator = Migrator(connection: owner)
        _ = try await migrator.up()
        try await owner.execute("TRUNCATE brocot.schema_migrations")
        let error = await #expect(throws: MigrationError.self) { try await migrator.up() }
        let text = error.map { "\($0)" } ?? ""
        #expect(
            text.contains("its history is empty")
                && text.contains("pg_dump --data-only --table=brocot.schema_migrations"))
        #expect(!text.contains("Drop these objects"))
    }

    @Test("migrate up accepts a schema of an administrator in which a plain role may create objects")
    func schemaOfAnAdministrator() async throws {
        try await withRole { role, owner in
            try await owner.execute(
                script: "CREATE SCHEMA brocot; GRANT CREATE, USAGE ON SCHEMA brocot TO \(role); SET ROLE \(role)")
            #expect(try await Migrator(connection: owner).up().count == MigrationSet.embedded.latestVersion)
            #expect(try await Migrator(connection: owner).up().isEmpty)
            try await owner.execute("RESET ROLE")
        }
    }

    @Test("A trigger that another role adds between two migrations does not run, and migrate up refuses it")
    func triggerBetweenMigrations() async throws {
        try await withRole { role, owner in
            let first = "CREATE TABLE brocot.a AS SELECT 1 AS n"
            _ = try await Migrator(connection: owner, set: try migrations(first)).up()
            try await owner.execute(
                script: """
                    GRANT USAGE ON SCHEMA brocot TO \(role); GRANT TRIGGER ON brocot.a TO \(role);
                    SET ROLE \(role);
                    CREATE FUNCTION pg_temp.take_over() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN ALTER ROLE \(role) SUPERUSER; RETURN NEW; END $$;
                    CREATE TRIGGER take_over BEFORE UPDATE ON brocot.a
                        FOR EACH ROW EXECUTE FUNCTION pg_temp.take_over();
                    RESET ROLE;
                    """)
            let set = try migrations(first, "UPDATE brocot.a SET n = 2")
            let (objects, _) = try await refusal { try await Migrator(connection: owner, set: set).up() }
            #expect(objects == [ForeignObject(name: "trigger take_over on brocot.a", owner: role)])
            let isSuperuser = try await owner.query("SELECT rolsuper FROM pg_roles WHERE rolname = \(role)").single()
            #expect(try !isSuperuser.decode(0, as: Bool.self))
        }
    }

    @Test(
        "migrate up refuses a foreign key of another role that changes rows along with Brocot's, and lets others be"
    )
    func foreignKeys() async throws {
        try await withRole { role, owner in
            let first = "CREATE TABLE brocot.a AS SELECT 1 AS n; ALTER TABLE brocot.a ADD PRIMARY KEY (n)"
            _ = try await Migrator(connection: owner, set: try migrations(first)).up()
            try await owner.execute(
                script: """
                    GRANT USAGE ON SCHEMA brocot TO \(role); GRANT REFERENCES ON brocot.a TO \(role);
                    CREATE SCHEMA place AUTHORIZATION \(role); SET ROLE \(role);
                    CREATE TABLE place.harmless (n int REFERENCES brocot.a);
                    RESET ROLE;
                    """)
            let second = "UPDATE brocot.a SET n = 2"
            _ = try await Migrator(connection: owner, set: try migrations(first, second)).up()
            try await owner.execute(
                script: """
                    CREATE TABLE place.middle (n int PRIMARY KEY REFERENCES brocot.a ON UPDATE CASCADE);
                    GRANT REFERENCES ON place.middle TO \(role); SET ROLE \(role);
                    CREATE TABLE place.shadow (n int REFERENCES place.middle ON DELETE SET NULL);
                    RESET ROLE;
                    """)
            let set = try migrations(first, second, "UPDATE brocot.a SET n = 3")
            let (objects, _) = try await refusal { try await Migrator(connection: owner, set: set).up() }
            #expect(objects == [ForeignObject(name: "table constraint shadow_n_fkey on place.shadow", owner: role)])
            try await owner.execute("DROP SCHEMA place CASCADE")
            #expect(try await Migrator(connection: owner, set: set).up().count == 1)
        }
    }

    @Test("A plain role can read the status of a schema that another role owns")
    func statusOfPlainRole() async throws {
        try await withRole { role, owner in
            let migrator = Migrator(connection: owner, set: try migrations("SELECT 1"))
            _ = try await migrator.up()
            try await owner.execute(
                script: """
                    ALTER SCHEMA brocot OWNER TO \(role); ALTER TABLE brocot.schema_migrations OWNER TO \(role);
                    """)
            try await TestRole.with("plain", owner: owner) { plain in
                try await owner.execute(
                    script: """
                        GRANT USAGE ON SCHEMA brocot TO \(plain.name); GRANT SELECT ON brocot.schema_migrations TO \(plain.name);
                        SET ROLE \(plain.name);
                        """)
                #expect(try await migrator.status().state == .current)
            }
        }
    }

    @Test("A superuser accepts the schema of another owner only if that role was granted to it")
    func superuserOnSomebodyElsesSchema() async throws {
        try await withRole { role, owner in
            let migrator = Migrator(connection: owner, set: try migrations("CREATE TABLE brocot.a ()"))
            try await owner.execute(script: "CREATE SCHEMA brocot AUTHORIZATION \(role); SET ROLE \(role)")
            _ = try await migrator.up()
            try await owner.execute("RESET ROLE")
            let (objects, _) = try await refusal { try await migrator.up() }
            #expect(objects.first == ForeignObject(name: "schema brocot", owner: role))
            #expect(objects.contains { $0.name == "table brocot.a" })
            try await owner.execute("GRANT \(identifier: role) TO CURRENT_USER")
            #expect(try await migrator.up().isEmpty)
        }
    }

    @Test(
        "migrate up refuses objects that another role added to the present role's schema",
        arguments: [
            (
                "GRANT CREATE, USAGE ON SCHEMA brocot TO ROLE",
                "CREATE FUNCTION brocot.move(text, text) RETURNS bigint LANGUAGE sql RETURN 1",
                "function brocot.move(pg_catalog.text,pg_catalog.text)"
            ),
            (
                "GRANT USAGE ON SCHEMA brocot TO ROLE; GRANT TRIGGER ON brocot.schema_migrations TO ROLE",
                """
                CREATE FUNCTION pg_temp.take_over() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
                CREATE TRIGGER mine BEFORE INSERT ON brocot.schema_migrations
                    FOR EACH ROW EXECUTE FUNCTION pg_temp.take_over()
                """,
                "trigger mine on brocot.schema_migrations"
            ),
        ])
    func addedLater(grant: String, statement: String, name: String) async throws {
        try await withRole { role, owner in
            let migrator = Migrator(connection: owner, set: try migrations("SELECT 1"))
            _ = try await migrator.up()
            try await owner.execute(
                script: "\(grant.replacing("ROLE", with: role)); SET ROLE \(role); \(statement); RESET ROLE")
            let (objects, _) = try await refusal { try await migrator.up() }
            #expect(objects == [ForeignObject(name: name, owner: role)])
        }
    }

    /// The server does not record the owner of such an object as a dependency.
    @Test("migrate up refuses an object that another role has given to a predefined role") func predefinedOwner()
        async throws
    {
        try await withRole { role, owner in
            let migrator = Migrator(connection: owner, set: try migrations("SELECT 1"))
            _ = try await migrator.up()
            try await owner.execute(
                script: """
                    GRANT pg_monitor TO \(role); GRANT CREATE, USAGE ON SCHEMA brocot TO \(role);
                    CREATE SCHEMA place AUTHORIZATION \(role); SET ROLE \(role); GRANT CREATE ON SCHEMA place TO pg_monitor;
                    CREATE FUNCTION place.trap() RETURNS integer RETURN 1;
                    ALTER FUNCTION place.trap OWNER TO pg_monitor; ALTER FUNCTION place.trap SET SCHEMA brocot; RESET ROLE
                    """)
            let (objects, _) = try await refusal { try await migrator.up() }
            #expect(objects == [ForeignObject(name: "function brocot.trap()", owner: "pg_monitor")])
        }
    }

    @Test("The script for other tools refuses the schema of another role too")
    func script() async throws {
        try await withRole { role, owner in
            let script = try await Migrator(connection: owner).status().script(lockTimeout: .seconds(60))
            try await owner.execute("CREATE SCHEMA brocot AUTHORIZATION \(identifier: role)")
            let error = await owner.refusal(ofScript: script)
            #expect(error?.message == "schema brocot is not only of this role: schema brocot of role \(role)")
            try await owner.execute("ROLLBACK")
        }
    }

    // MARK: Steps

    /// Gives `body` the name of a new role, which may create schemas in the database, and a superuser's connection.
    private func withRole(_ body: (String, Connection) async throws -> Void) async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with("other", owner: owner) { role in
            try await owner.execute(script: "GRANT CREATE ON DATABASE \(TestDatabase.current.name) TO \(role.name)")
            try await body(role.name, owner)
        }
    }

    private func refusal<Result>(
        of call: () async throws -> Result
    ) async throws -> (objects: [ForeignObject], isFirstRun: Bool) {
        do {
            _ = try await call()
        } catch MigrationError.foreignObjects(let objects, let isFirstRun) {
            return (objects, isFirstRun)
        }
        Issue.record("accepted")
        return ([], false)
    }

    private func expectNothingHappened(_ role: String, _ owner: Connection) async throws {
        let row = try await owner.query(
            "SELECT rolsuper, to_regclass('brocot.items') IS NULL FROM pg_roles WHERE rolname = \(role)"
        ).single()
        #expect(try !row.decode(0, as: Bool.self), "the other role became a superuser")
        #expect(try row.decode(1, as: Bool.self), "a migration was applied")
    }
}
