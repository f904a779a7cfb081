import LibPQ
import TestPostgres
import Testing

@testable import Migrations

@Suite(.database, .timeLimit(.minutes(10))) struct SchemaTests {
    @Test(arguments: [
        ("0, 0, 0", "rank_den_is_positive_within_62_bits"), ("1, -1, -1", "rank_den_is_positive_within_62_bits"),
        ("1, 4611686018427387904, 0", "rank_den_is_positive_within_62_bits"),
        ("4611686018427387904, 1, 4611686018427387904", "rank_num_is_within_62_bits"),
        ("-4611686018427387904, 1, -4611686018427387904", "rank_num_is_within_62_bits"),
        ("2, 4, 0.5", "rank_is_in_lowest_terms"), ("0, 2, 0", "rank_is_in_lowest_terms"),
        ("1, 2, 0.6", "rank_is_that_of_the_pair"), ("1, 2, 'NaN'", "rank_is_that_of_the_pair"),
        ("1, 3, 0.3333333333333333333333333333333333333", "rank_is_that_of_the_pair"),
        ("1, 2, 0.50", "rank_is_that_of_the_pair"), ("10, 1, 10.0", "rank_is_that_of_the_pair"),
    ])
    func refusesWhatIsNoRank(rank: String, rule: String) async throws {
        let connection = try await TestDatabase.current.connect()
        do {
            try await connection.execute(
                "INSERT INTO brocot.items (list, item, rank_num, rank_den, rank) VALUES ('l', 'a', \(unsafeRaw: rank))")
            Issue.record("accepted")
        } catch {
            #expect(error.constraint == rule)
        }
    }

    @Test func keepsTheClosestRanksApartAndInOrder() async throws {
        let connection = try await TestDatabase.current.connect()
        // Neighbours with the largest denominators: they differ by 1 / ((2^62 - 1) (2^62 - 2)).
        try await connection.execute(
            """
            INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
            SELECT 'l', item, num, den, brocot.rank_of(num, den)
            FROM (VALUES
                ('lower', 4611686018427387901, 4611686018427387902),
                ('upper', 4611686018427387902, 4611686018427387903),
                ('least', -4611686018427387903, 4611686018427387902),
                ('first', -4611686018427387903, 1)) AS pair (item, num, den)
            """)
        let rows = try await connection.query("SELECT item FROM brocot.items WHERE list = 'l' ORDER BY rank")
        #expect(try rows.map { try $0.decode(0, as: String.self) } == ["first", "least", "lower", "upper"])
    }

    @Test func writesIntegersAsIntegers() async throws {
        let connection = try await TestDatabase.current.connect()
        let row = try await connection.query("SELECT brocot.rank_of(100, 1)::text")
        #expect(try row.single().decode(0, as: String.self) == "100")
    }

    @Test func registersTheBuiltInTable() async throws {
        let connection = try await TestDatabase.current.connect()
        let row = try await connection.query("SELECT t::text FROM brocot.ordered_tables AS t").single()
        #expect(try row.decode(0, as: String.self) == "(items,brocot,items,{list},item,t,,rank,,last,f,t,f)")
    }

    @Test func explainsEveryTableAndEveryFunctionForApplications() async throws {
        let connection = try await TestDatabase.current.connect()
        let rows = try await connection.query(
            """
            SELECT oid::regclass::text FROM pg_class
            WHERE relnamespace = 'brocot'::regnamespace AND relkind = 'r' AND obj_description(oid, 'pg_class') IS NULL
            UNION ALL
            SELECT oid::regprocedure::text FROM pg_proc
            WHERE pronamespace = 'brocot'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL
            """)
        #expect(try rows.map { try $0.decode(0, as: String.self) } == [])
    }

    @Test func runsNothingWithTheOwnersRightsWithoutAFixedSearchPath() async throws {
        let connection = try await TestDatabase.current.connect()
        let rows = try await connection.query(
            """
            SELECT proname::text FROM pg_proc
            WHERE pronamespace = 'brocot'::regnamespace AND prosecdef
                AND NOT ('search_path=pg_catalog, pg_temp' = ANY (coalesce(proconfig, '{}')))
            """)
        #expect(rows.isEmpty)
    }
}

/// A schema whose functions, operators, types and collations have the names of the server's own, and come first.
@Suite(.database(migrated: false), .timeLimit(.minutes(10))) struct HostileSearchPathTests {
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

    @Test func changesNothingThatIsCalled() async throws {
        let connection = try await TestDatabase.current.connect()
        let expected = try await connection.query(
            "SELECT hashtextextended('l', hashtextextended('items', 0))"
        ).single().decode(0, as: Int64.self)
        _ = try await Migrator(connection: connection).up()
        try await connection.execute(script: Self.hostileSchema)
        try await use(connection, lockKey: expected)
    }

    @Test func changesNothingThatIsMigrated() async throws {
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
        await #expect(throws: PostgresError.self) {
            try await connection.execute(
                "INSERT INTO brocot.move_requests (list, items, placement) VALUES ('l', '{a,a}', 'last')")
        }
    }
}
