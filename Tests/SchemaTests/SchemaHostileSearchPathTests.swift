import LibPQ
import Migrations
import TestLimit
import TestPostgres
import Testing

/// A schema whose functions, operators, types and collations have the names of the server's own, and come first.
@Suite("Schema brocot under a hostile search_path", .database(migrated: false), .usualTimeLimit)
struct SchemaHostileSearchPathTests {
    private static let hostileSchema = """
        CREATE SCHEMA hostile;
        CREATE FUNCTION hostile.refuse(text, text) RETURNS boolean LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'hostile.refuse was called'; END $$;
        CREATE FUNCTION hostile.refuse(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'hostile.refuse was called'; END $$;
        CREATE FUNCTION hostile.refuse(integer, integer) RETURNS boolean LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'hostile.refuse was called'; END $$;
        CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.refuse);
        CREATE OPERATOR hostile.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.refuse);
        CREATE OPERATOR hostile.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.refuse);
        CREATE OPERATOR hostile.>= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.refuse);
        CREATE OPERATOR hostile.= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = hostile.refuse);
        CREATE OPERATOR hostile.<> (LEFTARG = integer, RIGHTARG = integer, FUNCTION = hostile.refuse);
        CREATE OPERATOR hostile.<= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = hostile.refuse);
        CREATE FUNCTION hostile.octet_length(text) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT -1';
        CREATE FUNCTION hostile.cardinality(text[]) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT -1';
        CREATE FUNCTION hostile.array_ndims(text[]) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT -1';
        CREATE FUNCTION hostile.unnest(text[]) RETURNS SETOF text LANGUAGE sql AS 'SELECT NULL::text';
        CREATE FUNCTION hostile.coalesce(text, text) RETURNS text LANGUAGE sql AS 'SELECT NULL::text';
        CREATE FUNCTION hostile.array_remove(text[], text) RETURNS text[] LANGUAGE sql AS 'SELECT NULL::text[]';
        CREATE FUNCTION hostile.hashtextextended(text, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
        CREATE FUNCTION hostile.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz';
        CREATE FUNCTION hostile.pg_notify(text, text) RETURNS void LANGUAGE sql AS 'SELECT';
        CREATE FUNCTION hostile.sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT ''''::bytea';
        CREATE FUNCTION hostile.to_regclass(text) RETURNS regclass LANGUAGE sql AS 'SELECT NULL::regclass';
        CREATE DOMAIN hostile.text AS pg_catalog.text CHECK (VALUE IS NULL);
        CREATE DOMAIN hostile.int4range AS pg_catalog.text CHECK (VALUE IS NULL);
        CREATE COLLATION hostile."C" FROM pg_catalog."POSIX";
        SET search_path = hostile, pg_catalog;
        """

    @Test("A hostile search_path does not change what the functions do", .database)
    func callsWork() async throws {
        let connection = try await TestDatabase.current.connect()
        let expected = try await connection.query(
            "SELECT hashtextextended('l', hashtextextended('items', 0))"
        ).single().decode(0, as: Int64.self)
        try await connection.execute(script: Self.hostileSchema)
        try await use(connection, lockKey: expected)
    }

    @Test("A hostile search_path does not change what the migrations make") func migrationsWork() async throws {
        let connection = try await TestDatabase.current.connect()
        let expected = try await connection.query(
            "SELECT hashtextextended('l', hashtextextended('items', 0))"
        ).single().decode(0, as: Int64.self)
        try await connection.execute(script: Self.hostileSchema)
        let migrator = Migrator(connection: connection)
        #expect(try await migrator.up().count == MigrationSet.embedded.latestVersion)
        #expect(try await migrator.status().state == .current)
        try await use(connection, lockKey: expected)
    }

    private func use(_ connection: Connection, lockKey: Int64) async throws {
        try await connection.execute(
            script: """
                INSERT INTO brocot.move_requests (list, items, placement) VALUES ('l', '{a}', 'last');
                INSERT INTO brocot.move_requests (list, items, placement) VALUES ('l', '{a,b}', 'last');
                SELECT brocot.move('l', 'a', first => true);
                SELECT brocot.move_items('l', ARRAY['a', 'b']::pg_catalog.text[], at => 3, idempotency_key => 'k');
                SELECT brocot.move_items('l', ARRAY['a', 'b']::pg_catalog.text[], at => 3, idempotency_key => 'k');
                SELECT brocot.remove('l', 'a');
                SELECT brocot.remove('l', 'a', idempotency_key => 'k');
                """)
        let row = try await connection.query(
            """
            SELECT (SELECT count(*) FROM brocot.move_requests), brocot.list_lock_key('items', 'l'),
                (SELECT status FROM brocot.request_status(1))
            """
        ).single()
        #expect(try row.decode(0, as: Int.self) == 5)
        #expect(try row.decode(1, as: Int64.self) == lockKey)
        #expect(try row.decode(2, as: String.self) == "pending")
        let error = await #expect(throws: PostgresError.self) {
            try await connection.execute(
                "INSERT INTO brocot.move_requests (list, items, placement) VALUES ('l', '{a,a}', 'last')")
        }
        #expect(error?.constraint == "items_are_distinct")
    }
}
