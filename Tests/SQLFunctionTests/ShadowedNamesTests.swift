import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite(
    "brocot.apply_pending if the search_path has other objects with names that Brocot uses", .database,
    .usualTimeLimit)
struct ShadowedNamesTests {
    private func lastOutcome(_ connection: Connection) async throws -> String {
        try await connection.query(
            "SELECT concat_ws(' ', outcome, error_code, sqlstate) FROM brocot.move_log ORDER BY id DESC LIMIT 1"
        ).single().decode(0, as: String.self)
    }

    @Test("A rejection keeps its code, also in later calls of the session", arguments: ["on", "off"])
    func rejection(quoting: String) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE SCHEMA app; CREATE DOMAIN app.text AS pg_catalog.varchar; CREATE TABLE app.move_requests (id int);
                SET quote_all_identifiers = \(quoting)
                """)
        for path in ["app, pg_catalog", "public", "brocot", "app, brocot"] {
            try await connection.execute(
                script: """
                    SET search_path = \(path);
                    SELECT brocot.move('a', 'x', before => 'nowhere'::pg_catalog.text); SELECT brocot.apply_pending()
                    """)
            #expect(try await lastOutcome(connection) == "rejected anchor_not_found", "\(path)")
        }
    }

    @Test("A request stays pending if the caller lacks a right on the table") func missingRight() async throws {
        let caller = try await SQLCaller()
        try await caller.createTasks(lists: ["1"], items: ["1"])
        let (connection, role) = (caller.connection, "reader_\(TestDatabase.current.name)")
        try await connection.execute(
            script: """
                CREATE SCHEMA app; CREATE DOMAIN app.text AS pg_catalog.varchar; GRANT USAGE ON SCHEMA app TO PUBLIC;
                CREATE ROLE \(role);
                GRANT USAGE ON SCHEMA brocot TO \(role); GRANT ALL ON ALL TABLES IN SCHEMA brocot TO \(role);
                SELECT brocot.move(1, 1, last => true, ordered_table => 'public.tasks');
                SET ROLE \(role); SET search_path = app, pg_catalog
                """)
        for _ in 1...2 {
            let error = await connection.refusal(of: "SELECT brocot.apply_pending()")
            #expect(error?.sqlState?.rawValue == "42501")
            #expect(try await connection.query("SELECT FROM brocot.move_requests").count == 1)
            try await connection.execute(script: "SET search_path = public")
        }
        try await connection.execute(script: "RESET ROLE; DROP OWNED BY \(role); DROP ROLE \(role)")
    }

    @Test(
        "A refusal by a user's function rejects the request, also if the function has the name of one of Brocot's",
        arguments: ["refuse", "decide"])
    func refusal(name: String) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE SCHEMA app; CREATE TABLE app.move_requests (id int); CREATE DOMAIN app.text AS pg_catalog.varchar;
                CREATE FUNCTION app.\(name)() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '42501'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION app.\(name)()
                """)
        for path in ["app, brocot", "brocot, app", "app, pg_catalog", "public"] {
            try await connection.execute(
                script:
                    "SET search_path = \(path); SELECT brocot.move('a', 'x', last => true); SELECT brocot.apply_pending()"
            )
            #expect(try await lastOutcome(connection) == "rejected failed 42501", "\(path)")
        }
    }
}
