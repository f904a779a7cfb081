import LibPQ

/// A schema that stands before `pg_catalog` in the `search_path` of every session of a test's database, and in which
/// whatever has the name of an operator, a function or a type of the server's raises an error, and the collation "C" is another one.
package enum HostileSchema {
    /// Puts it in front for sessions that begin from now on, and makes it if the database lacks it. `public` comes second, and
    /// `pg_catalog` last. Making it takes a second: a database of the trait `.databaseWithHostileSchema` has it.
    package static func putFirst() async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        let isMissing: Bool = try await connection.query("SELECT pg_catalog.to_regnamespace('hostile') IS NULL")
            .single()
            .decode(0)
        if isMissing { try await make(on: connection) }
        try await connection.execute(
            "ALTER DATABASE \(identifier: database.name) SET search_path = hostile, public, pg_catalog")
        await connection.close()
    }

    static func make(on connection: Connection) async throws {
        try await connection.execute(script: statements)
    }

    /// A session with only `pg_catalog` in its `search_path`, to observe the database from outside.
    package static func connectUntouched() async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "SET search_path = pg_catalog")
        return connection
    }

    /// The hostile operators and functions have exactly the argument types of the server's own. Those whose types
    /// PL/pgSQL can't have are missing; our statements use none of them without a schema.
    private static let statements =
        """
        CREATE SCHEMA hostile;
        CREATE COLLATION hostile."C" FROM pg_catalog."POSIX";
        CREATE FUNCTION hostile.operate() RETURNS boolean LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION 'hostile operator'; END $f$;
        CREATE FUNCTION hostile.function() RETURNS boolean LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION 'hostile function'; END $f$;
        \(CatalogRows.permission)

        """
        + CatalogRows.functions(
            like: "hostile.operate",
            "SELECT DISTINCT 'operate', ARRAY[oprleft, oprright] FROM pg_operator WHERE oprleft <> 0")
        + CatalogRows.operators(
            calling: "operate", in: "hostile", "SELECT oprname, oprleft, oprright FROM pg_operator WHERE oprleft <> 0")
        + CatalogRows.functions(
            like: "hostile.function",
            """
            SELECT DISTINCT proname, proargtypes::oid[] FROM pg_proc
            WHERE prokind IN ('a', 'f', 'w') AND pronamespace <> 'hostile'::regnamespace AND NOT EXISTS (
                SELECT FROM pg_type
                WHERE pg_type.oid = ANY (proargtypes) AND typtype = 'p' AND typname NOT LIKE 'any_%')
            """)
            + """
            DO $$
            DECLARE
                found record;
            BEGIN
                FOR found IN
                    SELECT typname FROM pg_type
                    WHERE typnamespace = 'pg_catalog'::regnamespace AND typcategory <> 'A' AND (typtype IN ('b', 'r') OR typname = 'record')
                LOOP
                    EXECUTE format('CREATE TYPE hostile.%I AS (lie boolean)', found.typname);
                END LOOP;
            END
            $$
            """
}
