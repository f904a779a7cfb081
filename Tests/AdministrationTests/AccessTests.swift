import LibPQ
import Administration
import TestLimit
import TestPostgres
import Testing

@Suite("Rights of the granted roles", .database, .usualTimeLimit) struct AccessTests {
    @Test("A requester can ask for moves in every way, see their outcomes, and read ranks")
    func requesterMay() async throws {
        try await allows(
            .requester,
            [
                "SELECT brocot.move('l', 'a', first => true)",
                "SELECT brocot.move_items('l', ARRAY['a', 'b'], at => 3, idempotency_key => 'k')",
                "SELECT brocot.remove('l', 'a', idempotency_key => 'k')",
                """
                INSERT INTO brocot.move_requests
                    (ordered_table, list, items, placement, anchor, position, from_list, idempotency_key)
                VALUES ('items', 'l', '{a}', 'before', 'b', NULL, 'm', 'other')
                """,
                "SELECT * FROM brocot.request_status(1)",
                "CALL brocot.wait_for(1, '0 s')",
                "SELECT * FROM brocot.move_requests", "SELECT * FROM brocot.move_log",
                "SELECT list, item, rank_num, rank_den, rank FROM brocot.items",
                "SELECT name FROM brocot.ordered_tables", "SELECT * FROM brocot.held_lists",
                "SELECT * FROM brocot.queue_status", "SELECT * FROM brocot.pending_lists",
                "SELECT * FROM brocot.pending_tables", "SELECT * FROM brocot.throughput",
                "SELECT * FROM brocot.rejections",
                #"SELECT "board id", id, rank_num, rank_den, rank FROM "the app"."Cards""#,
            ])
    }

    @Test("A requester can't choose a request's id or age, take back requests, or write anything else")
    func requesterMayNot() async throws {
        try await refuses(
            .requester,
            [
                "INSERT INTO brocot.move_requests (id, items, placement) OVERRIDING SYSTEM VALUE VALUES (1, '{a}', 'last')",
                "INSERT INTO brocot.move_requests (items, placement, requested_at) VALUES ('{a}', 'last', now())",
                "COPY brocot.move_requests FROM STDIN",
                "UPDATE brocot.move_requests SET list = 'x'", "DELETE FROM brocot.move_requests",
                "TRUNCATE brocot.move_requests",
                "INSERT INTO brocot.idempotency_keys VALUES ('x', 1)", "DELETE FROM brocot.idempotency_keys",
                "SELECT nextval('brocot.sleepers')", "SELECT setval('brocot.sleepers', 1, true)",
                "DELETE FROM brocot.held_lists",
                "DELETE FROM brocot.move_log", "UPDATE brocot.move_log SET outcome = 'applied'",
            ] + Self.changesOfOrder + Self.changesOfSchema)
    }

    @Test("A mover can move items at once")
    func moverMay() async throws {
        try await allows(
            .mover,
            [
                "SELECT brocot.move_now('l', 'a', first => true)",
                "SELECT brocot.move_items_now('l', '{b,c}', after => 'a')",
                "SELECT brocot.move_now('l', 'c', before => 'a')", "SELECT brocot.remove_now('l', 'b')",
                "SELECT brocot.move_items_now('m', '{a,c}', last => true, from_list => 'l')",
                "SELECT brocot.remove_items_now('m', '{a}')", "SELECT brocot.lock_lists('{l,m}')",
                "SELECT list, item, rank_num, rank_den, rank FROM brocot.items",
            ])
    }

    @Test("A mover can't write the log freely, use the queue, or change other columns of a user's table")
    func moverMayNot() async throws {
        try await refuses(
            .mover,
            [
                "SELECT brocot.move('l', 'a', first => true)", "SELECT brocot.apply_pending()",
                "INSERT INTO brocot.move_log (id, ordered_table, list, items, placement) VALUES (1, 'items', 'l', '{a}', 'first')",
                """
                INSERT INTO brocot.move_log (ordered_table, list, items, placement, outcome)
                VALUES ('items', 'l', '{a}', 'first', 'applied')
                """,
                "INSERT INTO brocot.move_log (ordered_table, list, items, placement, xid) VALUES ('items', 'l', '{a}', 'first', '1')",
                "UPDATE brocot.move_log SET list = 'x'", "DELETE FROM brocot.move_log",
                "SELECT setval('brocot.move_requests_id_seq', 1)", "UPDATE brocot.items SET list = 'x'",
                "UPDATE brocot.ordered_tables SET log_direct = false",
                #"SELECT title FROM "the app"."Cards""#, #"UPDATE "the app"."Cards" SET title = 'x'"#,
                #"DELETE FROM "the app"."Cards""#,
            ] + Self.changesOfSchema)
    }

    @Test("A reader can read ranks")
    func readerMay() async throws {
        try await allows(
            .reader,
            [
                "SELECT list, item, rank_num, rank_den, rank FROM brocot.items",
                "SELECT name FROM brocot.ordered_tables",
                #"SELECT "board id", id, rank_num, rank_den, rank FROM "the app"."Cards" ORDER BY rank"#,
            ])
    }

    @Test("A reader can't see requests or ask for moves")
    func readerMayNot() async throws {
        try await refuses(
            .reader,
            [
                "SELECT brocot.move('l', 'a', first => true)", "SELECT brocot.remove('l', 'a')",
                "INSERT INTO brocot.move_requests (items, placement) VALUES ('{a}', 'last')",
                "SELECT id FROM brocot.move_requests", "SELECT id FROM brocot.move_log",
                "SELECT * FROM brocot.request_status(1)", "SELECT * FROM brocot.queue_status",
                "SELECT * FROM brocot.pending_lists", "SELECT * FROM brocot.idempotency_keys",
                "SELECT * FROM brocot.sleepers", "SELECT * FROM brocot.held_lists",
                #"SELECT title FROM "the app"."Cards""#,
            ] + Self.changesOfOrder + Self.changesOfSchema)
    }

    @Test("A daemon can't ask for moves, and can change only ranks and lists in a user's table")
    func daemonMayNot() async throws {
        try await refuses(
            .daemon,
            [
                "SELECT brocot.move('l', 'a', first => true)",
                "INSERT INTO brocot.move_requests (items, placement) VALUES ('{a}', 'last')",
                "UPDATE brocot.move_requests SET list = 'x'",
                "INSERT INTO brocot.idempotency_keys VALUES ('x', 1)",
                "UPDATE brocot.ordered_tables SET owns_rows = true", "DELETE FROM brocot.schema_migrations",
                #"SELECT title FROM "the app"."Cards""#, #"UPDATE "the app"."Cards" SET title = 'x'"#,
                #"UPDATE "the app"."Cards" SET id = 1"#, #"DELETE FROM "the app"."Cards""#,
                #"INSERT INTO "the app"."Cards" (id, "board id") VALUES (9, 9)"#,
            ] + Self.changesOfSchema)
    }

    /// The tests of the command line run the real process, also with a table of the user.
    @Test("A daemon can decide requests and write ranks")
    func daemonMay() async throws {
        try await allows(
            .daemon,
            [
                "SELECT version FROM brocot.schema_migrations", "DELETE FROM brocot.move_requests",
                "INSERT INTO brocot.items VALUES ('l', 'a', 1, 1, 1)", "UPDATE brocot.items SET rank_num = 2, rank = 2",
                "DELETE FROM brocot.items", "DELETE FROM brocot.move_log", "DELETE FROM brocot.idempotency_keys",
                "SELECT setval('brocot.sleepers', 1, true)", "SELECT is_called FROM brocot.sleepers",
                "SELECT last_value FROM brocot.move_requests_id_seq", "SELECT brocot.list_lock_key('items', 'l')",
                "SELECT brocot.release('l')", "SELECT * FROM brocot.queue_status", "LISTEN brocot_move_requests",
                #"SELECT ctid, tableoid FROM "the app"."Cards""#,
                #"UPDATE "the app"."Cards" SET rank_num = 1, rank_den = 1, rank = 1, "board id" = 2 WHERE id = 1"#,
            ])
    }

    @Test("A daemon and a mover can insert and delete owned rows, and read the columns that hide rows")
    func ownedAndHiddenRows() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                CREATE TABLE songs (list int, song int, note text, rank numeric, rank_num bigint, rank_den bigint);
                CREATE TABLE tasks (
                    id int, note text, status text, "Gone at" date, rank numeric, rank_num bigint, rank_den bigint);
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows, visible)
                VALUES ('public.songs', 'public', 'songs', '{list}', 'song', true, NULL), ('public.tasks', 'public', 'tasks', '{}',
                    'id', false, '(("Gone at" IS NULL) AND (status = ''note''::text))');
                """)
        for kind in [RoleKind.daemon, .mover] {
            try await LoginRole.with(kind) { _, connection in
                try await connection.execute(
                    "INSERT INTO songs (list, song, rank, rank_num, rank_den) VALUES (1, 1, 0, 0, 1)")
                try await connection.execute("DELETE FROM songs WHERE song = 1")
                _ = try await connection.query(#"SELECT "Gone at" IS NULL AND status = 'note' FROM tasks"#)
                for refused: SQL in [
                    "SELECT note FROM songs", "INSERT INTO songs (note) VALUES ('x')", "DELETE FROM tasks",
                ] {
                    await expectRefusal(of: refused, on: connection)
                }
            }
        }
        try await LoginRole.with(.reader) { _, connection in
            _ = try await connection.query(#"SELECT "Gone at" IS NULL AND status = 'note' FROM tasks"#)
            await expectRefusal(of: "DELETE FROM songs", on: connection)
        }
    }

    @Test("Columns that hide rows are granted whatever the setting quote_all_identifiers is")
    func quotedIdentifiers() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                CREATE TABLE tasks (
                    id int, note text, status text, "user" text, rank numeric, rank_num bigint, rank_den bigint);
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows, visible)
                VALUES ('public.tasks', 'public', 'tasks', '{}', 'id', false,
                    '((status IS NULL) AND ("user" = ''x''::text))');
                """)
        for setting in ["off", "on"] {
            let database = quoteIdentifier(TestDatabase.current.name)
            try await owner.execute(script: "ALTER DATABASE \(database) SET quote_all_identifiers = \(setting)")
            try await LoginRole.with(.daemon) { _, connection in
                _ = try await connection.query(#"SELECT status IS NULL AND "user" = 'x' FROM tasks"#)
                await expectRefusal(of: "SELECT note FROM tasks", on: connection)
            }
        }
    }

    @Test(
        "Each role may use the schemas of key types, and those that a condition of visibility names, and no other schema",
        arguments: RoleKind.allCases)
    func namedSchemas(kind: RoleKind) async throws {
        let owner = try await TestDatabase.current.connect()
        let (named, others) = (
            ["types", "domains", "functions", "operators \"'."], ["quoted", "columns", "note", "x"]
        )
        for schema in named + others { try await owner.execute("CREATE SCHEMA \(identifier: schema)") }
        try await owner.execute(
            script: """
                CREATE TYPE types.mood AS ENUM ('sad', 'ok'); CREATE DOMAIN domains.key AS bigint;
                CREATE TABLE tasks (
                    id domains.key, mood types.mood, note text, "columns.x" text, rank numeric, rank_num bigint, rank_den bigint);
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows, visible)
                VALUES ('public.tasks', 'public', 'tasks', '{mood}', 'id', false,
                    $$(functions.live(note) AND (note OPERATOR("operators ""'.".===) 'quoted.x ''quoted.y'::text)
                        AND ("columns.x" <> '1'::text) AND (x.y > 1.5) AND (note <> E'\\\\quoted.x'::text))$$);
                DROP SCHEMA x;
                """)
        try await LoginRole.with(kind) { role, connection in
            func usable() async throws -> [String] {
                try await owner.query(
                    """
                    SELECT nspname FROM pg_namespace
                    WHERE nspname = ANY (\(named + others)) AND has_schema_privilege(\(role.name)::name, oid, 'USAGE')
                    """
                ).map { try $0.decode(0, as: String.self) }
            }
            #expect(try await Set(usable()) == Set(named))
            try await owner.execute(
                script: """
                    ALTER TYPE types.mood SET SCHEMA note;
                    REVOKE USAGE ON SCHEMA functions FROM \(quoteIdentifier(role.name))
                    """)
            let missing = try await connection.run { connection throws in
                try AccessGrants.missing(kind, for: nil, on: connection)
            }
            #expect(missing == [#"USAGE on "functions""#, #"USAGE on "note""#])
        }
    }

    @Test("Each role gets all rights that it needs, and each missing right is reported", arguments: RoleKind.allCases)
    func missing(kind: RoleKind) async throws {
        let owner = try await TestDatabase.current.connect()
        try await Cards.create(on: owner)
        try await LoginRole.with(kind) { role, connection in
            let complete = try await connection.run { connection throws in
                try AccessGrants.missing(kind, for: nil, on: connection)
            }
            #expect(complete == [])
            try await owner.execute("REVOKE SELECT ON brocot.items FROM \(identifier: role.name)")
            try await owner.execute(
                "REVOKE SELECT (id) ON TABLE \"the app\".\"Cards\" FROM \(identifier: role.name)")
            let missing = try await owner.run { connection throws in
                try AccessGrants.missing(kind, for: role.name, on: connection)
            }
            #expect(missing == [#"SELECT on "brocot"."items""#, #"SELECT (id) on "the app"."Cards""#])
        }
    }

    @Test("Each missing privilege on a sequence is reported separately")
    func missingOnSequence() async throws {
        let owner = try await TestDatabase.current.connect()
        try await LoginRole.with(.daemon) { role, connection in
            try await owner.execute("REVOKE UPDATE ON SEQUENCE brocot.sleepers FROM \(identifier: role.name)")
            let missing = try await connection.run { connection throws in
                try AccessGrants.missing(.daemon, for: nil, on: connection)
            }
            #expect(missing == [#"UPDATE on "brocot"."sleepers""#])
        }
    }

    @Test("A role that can't grant all rights grants none of them")
    func allOrNothing() async throws {
        let owner = try await TestDatabase.current.connect()
        try await Cards.create(on: owner)
        try await TestRole.with(["granting", "other"], owner: owner) { roles in
            // The server only warns of each further GRANT of a role that has the rights itself.
            try await GrantedRole.grant(.reader, to: roles[0], by: owner)
            try await owner.execute(
                "GRANT USAGE ON SCHEMA brocot TO \(identifier: roles[0].name) WITH GRANT OPTION")
            let missing = try await AccessGrants.grant(.reader, to: [roles[1].name], on: roles[0].connect())
            #expect(!missing.isEmpty && !missing.contains(#"USAGE on "brocot""#), "\(missing)")
            let usage = try await owner.query(
                "SELECT has_schema_privilege(\(roles[1].name)::name, 'brocot', 'USAGE')")
            #expect(try usage.single().decode(0, as: Bool.self) == false)
        }
    }

    // MARK: Steps

    private static let changesOfOrder: [SQL] = [
        "INSERT INTO brocot.items VALUES ('l', 'a', 1, 1, 1)", "UPDATE brocot.items SET rank_num = 1, rank = 1",
        "DELETE FROM brocot.items", #"UPDATE "the app"."Cards" SET rank_num = 1, rank_den = 1"#,
        "SELECT brocot.release('l')",
    ]

    private static let changesOfSchema: [SQL] = [
        "INSERT INTO brocot.ordered_tables VALUES ('x', 'x', 'x', '{x}', 'x', false)",
        "DELETE FROM brocot.ordered_tables",
        "TRUNCATE brocot.items", "CREATE TABLE brocot.mine ()", "DROP TABLE brocot.items",
        "ALTER TABLE brocot.move_requests DISABLE TRIGGER ALL", "DROP SCHEMA brocot CASCADE",
    ]

    private func expectRefusal(of statement: SQL, on connection: Connection) async {
        let error = await connection.refusal(of: statement)
        #expect(error?.sqlState == .insufficientPrivilege, "\(statement.text)")
    }

    private func allows(_ kind: RoleKind, _ statements: [SQL]) async throws {
        try await Cards.create(on: try await TestDatabase.current.connect())
        try await LoginRole.with(kind) { _, connection in
            for statement in statements {
                let error = await connection.refusal(of: statement)
                #expect(error == nil, "\(statement.text)")
            }
        }
    }

    private func refuses(_ kind: RoleKind, _ statements: [SQL]) async throws {
        let owner = try await TestDatabase.current.connect()
        try await Cards.create(on: owner)
        // Releasing this list deletes a row.
        try await owner.execute(
            "INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at) VALUES ('items', 'l', 1, '', now())"
        )
        try await LoginRole.with(kind) { _, connection in
            for statement in statements {
                await expectRefusal(of: statement, on: connection)
            }
        }
    }
}
