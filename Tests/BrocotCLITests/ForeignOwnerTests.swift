import LibPQ
import TestLimit
import TestPostgres
import Testing

/// A role that reads another role's table, or calls its function, runs the other role's code.
@Suite("Schemas that another role owns", .database(migrated: false), .usualTimeLimit)
struct ForeignOwnerTests {
    private static let commands = [
        ["daemon", "--drain"], ["migrate", "status"], ["migrate", "plan"], ["migrate", "verify"], ["migrate", "up"],
        ["status"],
        ["doctor"], ["show", "l"], ["check", "l"], ["check"], ["pause"], ["resume"], ["release", "--all"],
        ["retry", "1"],
        ["grant", "daemon", "postgres"],
    ]

    @Test("A superuser runs no command in a schema of a role that was not granted to it")
    func refused() async throws {
        let database = TestDatabase.current
        let owner = try await database.connect()
        try await TestRole.with("foreign_owner", owner: owner) { foreign in
            let role = foreign.name
            try await owner.execute("GRANT CREATE ON DATABASE \(identifier: database.name) TO \(identifier: role)")
            let migrated = try await BrocotProcess.run("migrate", "up", databaseURL: foreign.url)
            #expect(migrated.exitCode == 0, "\(migrated.errors)")
            try await owner.execute(
                script: """
                    SET ROLE \(role);
                    SELECT brocot.move('l', 'i', last => true);
                    CREATE FUNCTION brocot.take_over() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN ALTER ROLE \(role) SUPERUSER; RETURN NEW; END $$;
                    CREATE TRIGGER take_over BEFORE INSERT ON brocot.items
                        FOR EACH ROW EXECUTE FUNCTION brocot.take_over();
                    CREATE TRIGGER take_over BEFORE UPDATE ON brocot.ordered_tables
                        FOR EACH ROW EXECUTE FUNCTION brocot.take_over();
                    CREATE FUNCTION brocot.take_over_as_reader() RETURNS integer LANGUAGE plpgsql AS
                        $$ BEGIN ALTER ROLE \(role) SUPERUSER; RETURN 99; END $$;
                    ALTER TABLE brocot.schema_migrations RENAME TO history;
                    CREATE VIEW brocot.schema_migrations AS
                        SELECT version + brocot.take_over_as_reader() AS version, name, checksum, applied_at, duration
                        FROM brocot.history;
                    RESET ROLE;
                    """)
            for command in Self.commands {
                let result = try await BrocotProcess.run(command)
                #expect(result.exitCode == 7, "\(command): \(result.errors)")
                #expect(
                    (result.errors + result.output).contains("schema brocot, owned by \(role)"),
                    "\(command): \(result.errors)")
            }
            let isSuperuser = try await owner.query("SELECT rolsuper FROM pg_roles WHERE rolname = \(role)").single()
            #expect(try !isSuperuser.decode(0, as: Bool.self))
        }
    }

    @Test("A superuser uses no table of a role that was not granted to it: no trigger and no view runs", .database)
    func foreignTable() async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with("foreign_owner", owner: owner) { foreign in
            let role = foreign.name
            try await owner.execute(
                script: """
                    GRANT CREATE ON SCHEMA public TO \(role); SET ROLE \(role);
                    CREATE TABLE public.tasks (id int PRIMARY KEY, project int); INSERT INTO public.tasks VALUES (1, 1);
                    CREATE FUNCTION public.rise() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN ALTER ROLE \(role) SUPERUSER; RETURN NEW; END $$;
                    CREATE TRIGGER rise BEFORE UPDATE ON public.tasks FOR EACH ROW EXECUTE FUNCTION public.rise();
                    RESET ROLE;
                    """)
            let attach = ["attach", "public.tasks", "--item", "id", "--list", "project"]
            let refused = try await BrocotProcess.run(attach)
            #expect(refused.exitCode == 7)
            #expect(refused.errors.contains("table public.tasks, owned by \(role)"), "\(refused.errors)")
            #expect(refused.errors.contains(#"GRANT "\#(role)" TO "postgres""#), "\(refused.errors)")
            try await owner.execute(
                script: """
                    GRANT \(role) TO postgres; ALTER TABLE public.tasks DISABLE TRIGGER rise
                    """)
            #expect(try await BrocotProcess.run(attach).exitCode == 0)
            try await owner.execute(
                script: "REVOKE \(role) FROM postgres; ALTER TABLE public.tasks ENABLE TRIGGER rise")
            for command in [
                ["check", "--repair"], ["check"], ["check", "1", "--table", "public.tasks"], ["doctor"],
                ["daemon", "--drain"],
                ["show", "1", "--table", "public.tasks"], ["import", "1", "--table", "public.tasks"], attach,
            ] {
                let result = try await BrocotProcess.run(command)
                #expect(result.exitCode == 7, "\(command): \(result.errors)")
                #expect((result.errors + result.output).contains("owned by \(role)"), "\(command): \(result.errors)")
            }
            for command in [["show", "l"], ["check", "l"], ["status"], ["grant", "reader", role]] {
                let result = try await BrocotProcess.run(command)
                #expect(result.exitCode == 0, "\(command): \(result.errors)")
            }
            let isSuperuser = try await owner.query("SELECT rolsuper FROM pg_roles WHERE rolname = \(role)").single()
            #expect(try !isSuperuser.decode(0, as: Bool.self))
            let detached = try await BrocotProcess.run("detach", "public.tasks")
            #expect(detached.exitCode == 0)
            #expect(!detached.errors.contains("skipping"), "\(detached.errors)")
        }
    }

    @Test(
        "A superuser runs no command while another role has a trigger on a table of Brocot, or a foreign key that cascades",
        .database, arguments: [false, true])
    func foreignCode(isForeignKey: Bool) async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with("foreign_owner", owner: owner) { foreign in
            let role = foreign.name
            try await owner.execute(
                script: """
                    CREATE SCHEMA place AUTHORIZATION \(role); GRANT USAGE ON SCHEMA brocot TO \(role);
                    GRANT TRIGGER ON brocot.ordered_tables TO \(role); GRANT REFERENCES ON brocot.move_requests TO \(role);
                    SET ROLE \(role);
                    CREATE FUNCTION place.rise() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN ALTER ROLE \(role) SUPERUSER; RETURN NULL; END $$;
                    CREATE TABLE place.shadow (id bigint\(isForeignKey ? " REFERENCES brocot.move_requests ON DELETE CASCADE" : ""));
                    CREATE TRIGGER rise AFTER INSERT OR UPDATE OR DELETE ON \(isForeignKey ? "place.shadow" : "brocot.ordered_tables")
                        FOR EACH ROW EXECUTE FUNCTION place.rise();
                    RESET ROLE;
                    CREATE TABLE tasks (id int PRIMARY KEY);
                    """)
            for command in [
                ["daemon", "--drain"], ["pause"], ["resume"], ["pause", "items", "l"], ["release", "--all"],
                ["retry", "1"],
                ["attach", "public.tasks", "--item", "id"], ["detach", "public.tasks"], ["import", "l"],
            ] {
                let result = try await BrocotProcess.run(command)
                #expect(result.exitCode == 7, "\(command): \(result.errors)")
                #expect((result.errors + result.output).contains("owned by \(role)"), "\(command): \(result.errors)")
            }
            let isSuperuser = try await owner.query("SELECT rolsuper FROM pg_roles WHERE rolname = \(role)").single()
            #expect(try !isSuperuser.decode(0, as: Bool.self))
            try await owner.execute("DROP SCHEMA place CASCADE")
        }
    }

    @Test(
        "A superuser's daemon refuses another role's foreign key to an attached table only if a move can fire its action",
        .database)
    func foreignKeyToAttachedTable() async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with("foreign_owner", owner: owner) { foreign in
            let role = foreign.name
            try await owner.execute(
                script: """
                    CREATE TABLE tasks (id int PRIMARY KEY, project int, UNIQUE (project, id)); INSERT INTO tasks VALUES (1, 1);
                    CREATE SCHEMA place AUTHORIZATION \(role); GRANT REFERENCES ON tasks TO \(role);
                    SET ROLE \(role);
                    CREATE TABLE place.comments (task int REFERENCES tasks ON DELETE CASCADE);
                    RESET ROLE
                    """)
            let attach = ["attach", "public.tasks", "--item", "id", "--list", "project"]
            let readers = [["check", "--table", "public.tasks"], ["show", "1", "--table", "public.tasks"]]
            for command in [attach] + readers + [["daemon", "--drain"]] {
                let result = try await BrocotProcess.run(command)
                #expect(result.exitCode == 0, "\(command): \(result.errors)")
            }
            try await owner.execute(
                script: """
                    SET ROLE \(role);
                    CREATE TABLE place.copies (
                        project int, task int, FOREIGN KEY (project, task) REFERENCES tasks (project, id) ON UPDATE CASCADE);
                    RESET ROLE
                    """)
            for command in [["daemon", "--drain"], ["doctor", "--role", "daemon"]] {
                let result = try await BrocotProcess.run(command)
                #expect(result.exitCode == 7, "\(command): \(result.errors)")
                let object = "table constraint copies_project_task_fkey on place.copies, owned by \(role)"
                #expect(
                    (result.errors + result.output).contains(object), "\(command): \(result.errors)\(result.output)")
            }
            for command in [attach] + readers {
                let result = try await BrocotProcess.run(command)
                #expect(result.exitCode == 0, "\(command): \(result.errors)")
            }
            try await owner.execute("DROP SCHEMA place CASCADE")
        }
    }

    @Test("The built-in table can neither be attached nor be detached", .database)
    func builtIn() async throws {
        for name in ["items", "brocot.items"] {
            let detached = try await BrocotProcess.run("detach", name)
            #expect(detached.exitCode == 2, "\(name)")
            #expect(detached.errors.contains("items is the built-in table. It can't be detached."), "\(name)")
            #expect(try await BrocotProcess.run("attach", name, "--item", "item").exitCode == 2, "\(name)")
        }
    }

    @Test("A superuser runs commands in a schema whose owner was granted to it")
    func granted() async throws {
        let database = TestDatabase.current
        let owner = try await database.connect()
        try await TestRole.with("granted_owner", owner: owner) { granted in
            let role = granted.name
            try await owner.execute("GRANT CREATE ON DATABASE \(identifier: database.name) TO \(identifier: role)")
            try await owner.execute("GRANT \(identifier: role) TO CURRENT_USER")
            #expect(try await BrocotProcess.run("migrate", "up", databaseURL: granted.url).exitCode == 0)
            for command in [["daemon", "--drain"], ["migrate", "status"], ["status"], ["show", "l"]] {
                let result = try await BrocotProcess.run(command)
                #expect(result.exitCode == 0, "\(command): \(result.errors)")
            }
        }
    }
}
