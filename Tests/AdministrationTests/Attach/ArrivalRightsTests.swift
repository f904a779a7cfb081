import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Administration
@testable import Migrations

@Suite("Rights of the functions that request places for new rows", .database, .usualTimeLimit)
struct ArrivalRightsTests {
    /// A role that owns the attached table, and a view with the name of the new rows whose function says who calls it.
    private static func view(of role: String) -> String {
        """
        CREATE FUNCTION public.evil() RETURNS bigint LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'run as %', current_user; END $$;
        SET SESSION AUTHORIZATION \(role);
        CREATE TEMP VIEW arriving AS SELECT evil() AS id, 1::bigint AS project_id, NULL::numeric AS rank;
        GRANT SELECT ON arriving TO PUBLIC;
        """
    }

    /// Gives `body` the attached table, and a role that owns it.
    private func withTable(
        _ lists: [String], _ body: (_ role: String, AttachFixture) async throws -> Void
    ) async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await TestRole.with("owner", owner: fixture.connection) { role in
            try await fixture.connection.execute(
                script: """
                    GRANT \(role.name) TO CURRENT_USER; ALTER TABLE tasks OWNER TO \(role.name);
                    GRANT CREATE, USAGE ON SCHEMA public TO \(role.name)
                    """)
            try await fixture.attach(AttachFixture.definition(lists: lists))
            try await body(role.name, fixture)
        }
    }

    @Test(
        "A trigger that the table's owner makes with the function reads no view of the session's role",
        arguments: [["project_id"], []])
    func foreignTrigger(lists: [String]) async throws {
        try await withTable(lists) { role, fixture in
            try await fixture.connection.execute(script: Self.view(of: role))
            for (event, statement) in [
                ("UPDATE", "UPDATE tasks SET title = 'y'"), ("INSERT", "INSERT INTO tasks (project_id) VALUES (1)"),
                ("DELETE", "DELETE FROM tasks WHERE title = 'y'"), ("TRUNCATE", "TRUNCATE tasks"),
            ] {
                await #expect(throws: Never.self, "\(event)") {
                    try await fixture.connection.execute(
                        script: """
                            CREATE TRIGGER mine BEFORE \(event) ON tasks FOR EACH STATEMENT
                                EXECUTE FUNCTION brocot."arrive_public.tasks"();
                            \(statement); DROP TRIGGER mine ON tasks
                            """)
                }
            }
        }
    }

    /// The owner answers with the new rows that the trigger has a transition table called `arriving`.
    private static func triggerThatHidesTheCatalog(of role: String) -> String {
        """
        ALTER TABLE tasks ADD tgrelid oid, ADD tgname name, ADD tgnewtable name;
        CREATE TRIGGER mine AFTER INSERT ON tasks REFERENCING NEW TABLE AS pg_trigger
            FOR EACH STATEMENT EXECUTE FUNCTION brocot."arrive_public.tasks"();
        \(view(of: role))
        INSERT INTO tasks (project_id, tgrelid, tgname, tgnewtable) VALUES (1, 'tasks'::regclass, 'mine', 'arriving');
        """
    }

    @Test(
        "A transition table that the table's owner names pg_trigger does not hide the catalog",
        arguments: [["project_id"], []])
    func hiddenCatalog(lists: [String]) async throws {
        try await withTable(lists) { role, fixture in
            try await fixture.connection.execute(script: Self.triggerThatHidesTheCatalog(of: role))
        }
    }

    @Test("The functions that run with their owner's rights name each relation but the new rows with its schema")
    func qualifiedNames() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach(AttachFixture.definition(arriveNow: true))
        try await fixture.attach(AttachFixture.definition(rank: "place", lists: [], arrive: .first))
        let unqualified = try await fixture.texts(
            #"""
            SELECT DISTINCT name[1] FROM pg_proc
            CROSS JOIN regexp_matches(prosrc, '\m(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+("[^"]+"|\w+)\M(?!\.)', 'gi') AS name
            WHERE pronamespace = 'brocot'::regnamespace AND prosecdef
            """#)
        #expect(unqualified == ["arriving"])
    }

    @Test("New rows and rows that change lists get their requests also beside a temporary view called arriving")
    func ownTriggers() async throws {
        try await withTable(["project_id"]) { role, fixture in
            try await fixture.connection.execute(
                script: """
                    \(Self.view(of: role))
                    INSERT INTO tasks (id, project_id) VALUES (11, 1);
                    UPDATE tasks SET project_id = 2 WHERE id = 1;
                    RESET SESSION AUTHORIZATION;
                    """)
            #expect(
                try await fixture.requests() == ["public.tasks 1 {11} arrive", "public.tasks 2 {1} arrive"])
        }
    }

    @Test(
        "A migration makes the functions of tables that are already attached read no view called arriving",
        arguments: [["project_id"], []])
    func existingFunctions(lists: [String]) async throws {
        try await withTable(lists) { role, fixture in
            let unchecked =
                "SELECT proname FROM pg_proc WHERE prosrc LIKE '%FROM arriving%' AND prosrc NOT LIKE '%pg_temp.arriving%'"
            try await fixture.connection.execute(
                script: #"""
                    DO $$ BEGIN
                        EXECUTE (SELECT regexp_replace(pg_get_functiondef(oid), E'\n    IF to_regclass.*?\n    END IF;', '')
                            FROM pg_proc WHERE proname = 'arrive_public.tasks');
                    END $$
                    """#)
            #expect(try await fixture.texts(unchecked) == ["arrive_public.tasks"])
            let migration = try #require(
                EmbeddedMigrations.files.first { $0.name.hasSuffix("rows_that_only_attach_names.sql") })
            try await fixture.connection.execute(script: migration.text)
            #expect(try await fixture.texts(unchecked).isEmpty)
            try await fixture.connection.execute(
                script: """
                    \(Self.view(of: role))
                    CREATE TRIGGER mine BEFORE INSERT ON tasks FOR EACH STATEMENT EXECUTE FUNCTION brocot."arrive_public.tasks"();
                    INSERT INTO tasks (project_id) VALUES (1);
                    """)
        }
    }

    @Test("A migration makes the functions of tables that are already attached read only the server's own catalog")
    func existingFunctionsWithHiddenCatalog() async throws {
        try await withTable(["project_id"]) { role, fixture in
            try await fixture.connection.execute(
                script: """
                    DO $$ BEGIN
                        EXECUTE (SELECT replace(pg_get_functiondef(oid), 'FROM pg_catalog.pg_trigger ', 'FROM pg_trigger ')
                            FROM pg_proc WHERE proname = 'arrive_public.tasks');
                    END $$
                    """)
            let changed = try await fixture.attacher.plan(AttachFixture.definition()).steps
            #expect(changed.map(\.purpose) == ["register the order"])
            let migration = try #require(
                EmbeddedMigrations.files.first { $0.name.hasSuffix("catalog_of_the_server_in_triggers.sql") })
            try await fixture.connection.execute(script: migration.text)
            #expect(try await fixture.attacher.plan(AttachFixture.definition()).steps.isEmpty)
            try await fixture.connection.execute(script: Self.triggerThatHidesTheCatalog(of: role))
        }
    }
}
