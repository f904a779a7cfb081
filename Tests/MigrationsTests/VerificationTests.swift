import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Migrations

@Suite("Verification of the schema", .database, .usualTimeLimit) struct VerificationTests {
    @Test("Verification finds no difference after the migrations") func findsNothingAfterMigrating() async throws {
        let connection = try await TestDatabase.current.connect()
        let comparison = try await Migrator(connection: connection).verify()
        #expect(comparison?.isEmpty == true, "\(String(describing: comparison))")
    }

    @Test("Verification compares nothing while migrations are pending") func comparesNothingWhileMigrationsArePending()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("DROP SCHEMA brocot CASCADE")
        #expect(try await Migrator(connection: connection).verify() == nil)
    }

    /// Changes of one database, because each verification applies all migrations to make a schema to compare with.
    private static let missing = [
        ("DROP INDEX brocot.move_requests_by_list", ["index brocot.move_requests_by_list"]),
        (
            "DROP TRIGGER skip_duplicate_request ON brocot.move_requests",
            ["trigger skip_duplicate_request on brocot.move_requests"]
        ),
        (
            "ALTER TABLE brocot.items DROP CONSTRAINT items_list_rank_key",
            ["constraint items_list_rank_key on brocot.items"]
        ),
        ("ALTER TABLE brocot.move_log DROP COLUMN sqlstate", ["column brocot.move_log.sqlstate"]),
        ("DROP TABLE brocot.idempotency_keys", ["table brocot.idempotency_keys"]),
        (
            "DROP SEQUENCE brocot.sleepers CASCADE",
            ["sequence brocot.sleepers", "trigger wake_sleeping_daemons on brocot.move_requests"]
        ),
        ("DROP VIEW brocot.rejections", ["view brocot.rejections", "column brocot.rejections.error_code"]),
        ("ALTER TYPE brocot.order_shape DROP ATTRIBUTE rank", ["column brocot.order_shape.rank"]),
        ("DROP TYPE brocot.rank_columns CASCADE", ["type brocot.rank_columns", "column brocot.rank_columns.rank"]),
        ("DROP FUNCTION brocot.request_status(bigint)", ["function brocot.request_status(bigint)"]),
        (
            "ALTER DOMAIN brocot.well_formed_request DROP CONSTRAINT items_are_distinct",
            ["constraint items_are_distinct on domain brocot.well_formed_request"]
        ),
    ]

    @Test("Verification names each missing object") func namesWhatIsMissing() async throws {
        let comparison = try await verify(after: Self.missing.map(\.0).joined(separator: ";\n"))
        for (change, objects) in Self.missing {
            for object in objects { #expect(comparison.missing.contains(object), "\(change): \(comparison)") }
        }
    }

    @Test("Verification names a missing domain, and the constraint that went with it") func namesAMissingDomain()
        async throws
    {
        let comparison = try await verify(after: "DROP DOMAIN brocot.well_formed_request CASCADE")
        for object in ["domain brocot.well_formed_request", "constraint is_well_formed on brocot.move_requests"] {
            #expect(comparison.missing.contains(object), "\(comparison)")
        }
    }

    /// Changes of one database, each of another object.
    private static let changed = [
        ("ALTER TABLE brocot.move_requests ALTER COLUMN list DROP NOT NULL", "column brocot.move_requests.list"),
        ("ALTER TABLE brocot.move_requests ALTER COLUMN missing DROP DEFAULT", "column brocot.move_requests.missing"),
        (
            "ALTER TABLE brocot.move_requests DISABLE TRIGGER skip_duplicate_request",
            "trigger skip_duplicate_request on brocot.move_requests"
        ),
        ("ALTER TABLE brocot.held_lists SET UNLOGGED", "table brocot.held_lists"),
        (
            """
            CREATE OR REPLACE VIEW brocot.pending_tables AS SELECT NULL COLLATE "C" AS ordered_table, 0::bigint AS lists, 0::bigint AS pending,
                false AS pending_is_minimum, NULL::timestamptz AS oldest_requested_at, NULL::interval AS oldest_age
            """, "view brocot.pending_tables"
        ),
        (
            """
            ALTER TYPE brocot.order_shape DROP ATTRIBUTE log_direct;
            ALTER TYPE brocot.order_shape ADD ATTRIBUTE log_direct boolean
            """, "type brocot.order_shape"
        ),
        ("ALTER SEQUENCE brocot.sleepers CYCLE", "sequence brocot.sleepers"),
        (
            "ALTER FUNCTION brocot.chosen_placement RESET search_path",
            "function brocot.chosen_placement(text,text,bigint,boolean,boolean)"
        ),
        (
            """
            ALTER TABLE brocot.items DROP CONSTRAINT items_list_rank_key;
            ALTER TABLE brocot.items ADD CONSTRAINT items_list_rank_key UNIQUE (list, rank)
            """, "constraint items_list_rank_key on brocot.items"
        ),
    ]

    @Test("Verification names each changed object, and no other") func namesWhatIsChanged() async throws {
        let comparison = try await verify(after: Self.changed.map(\.0).joined(separator: ";\n"))
        for (change, object) in Self.changed {
            #expect(comparison.changed.contains(object), "\(change): \(comparison)")
        }
        #expect(comparison.changed.count == Self.changed.count, "\(comparison)")
        #expect(comparison.missing.isEmpty, "\(comparison)")
    }

    @Test("Verification names tables of which triggers of constraints are disabled")
    func namesDisabledTriggers() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "ALTER TABLE brocot.items DISABLE TRIGGER ALL")
        let disabled = try await Migrator(connection: connection).verify()
        #expect(disabled?.disabled == ["brocot.items"] && disabled?.changed == [] && disabled?.isEmpty == false)
        try await connection.execute(script: "ALTER TABLE brocot.items ENABLE TRIGGER ALL")
        let enabled = try await Migrator(connection: connection).verify()
        #expect(enabled?.disabled == [] && enabled?.isEmpty == true)
    }

    @Test("Verification accepts added indexes, tables, views and storage options") func acceptsAddedObjects()
        async throws
    {
        let comparison = try await verify(
            after: """
                CREATE INDEX mine ON brocot.items (item); CREATE TABLE public.mine (list text, item text,
                    FOREIGN KEY (list, item) REFERENCES brocot.items);
                CREATE VIEW public.mine_too AS SELECT * FROM brocot.move_log;
                ALTER TABLE brocot.move_log SET (fillfactor = 90);
                ALTER INDEX brocot.move_log_rejected SET (fillfactor = 70);
                ALTER INDEX brocot.move_log_by_age SET (autosummarize = off)
                """)
        #expect(comparison.isEmpty, "\(comparison)")
    }

    @Test("Verification lists added triggers, rules and policies with the role whose code they run")
    func listsAddedCode() async throws {
        try await TestRole.with("policed", owner: TestDatabase.current.observer) { role in
            let comparison = try await verify(
                after: """
                    CREATE FUNCTION public.audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                    ALTER FUNCTION public.audit() OWNER TO \(role.name);
                    CREATE TRIGGER audit AFTER INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION public.audit();
                    CREATE RULE keep AS ON DELETE TO brocot.move_log DO INSTEAD NOTHING;
                    CREATE POLICY tenants ON brocot.move_requests USING (list = current_user)
                    """)
            #expect(comparison.isEmpty)
            #expect(
                comparison.added == [
                    .init(name: "policy tenants on brocot.move_requests", owner: "postgres"),
                    .init(name: "rule keep on brocot.move_log", owner: "postgres"),
                    .init(name: "trigger audit on brocot.items", owner: role.name),
                ])
        }
    }

    @Test("Verification changes nothing in the database") func leavesEverythingAsItWas() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("INSERT INTO brocot.items VALUES ('l', 'a', 1, 1, 1)")
        let before = try await state(connection)
        _ = try await Migrator(connection: connection).verify()
        #expect(try await state(connection) == before)
        let row = try await connection.query(
            """
            SELECT (SELECT count(*) FROM brocot.items),
                (SELECT string_agg(nspname, ' ') FROM pg_namespace WHERE nspname LIKE 'brocot%')
            """
        ).single()
        #expect(try row.decode(0, as: Int.self) == 1)
        #expect(try row.decode(1, as: String.self) == "brocot")
    }

    /// The versions of the schema's relations, functions and triggers in the catalog, and the applied migrations.
    private func state(_ connection: Connection) async throws -> [String] {
        try await connection.query(
            """
            SELECT concat_ws(' ', tableoid::regclass, oid, xmin) FROM pg_class WHERE relnamespace = 'brocot'::regnamespace
            UNION ALL
            SELECT concat_ws(' ', tableoid::regclass, oid, xmin) FROM pg_proc WHERE pronamespace = 'brocot'::regnamespace
            UNION ALL
            SELECT concat_ws(' ', pg_trigger.tableoid::regclass, pg_trigger.oid, pg_trigger.xmin)
            FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid WHERE relnamespace = 'brocot'::regnamespace
            UNION ALL
            SELECT migration::text FROM brocot.schema_migrations AS migration
            """
        ).map { try $0.decode(0, as: String.self) }.sorted()
    }

    private func verify(after change: String) async throws -> SchemaComparison {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: change)
        return try #require(try await Migrator(connection: connection).verify())
    }
}
