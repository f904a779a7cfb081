import LibPQ

/// A schema at the end of the `search_path` of every session of a test's database, with operators and functions that fit better
/// than those of `pg_catalog`: PostgreSQL prefers exact types, wherever the schema is in the path.
///
/// There is an operator for each pair of types that `pg_catalog` lacks, and there are functions with concrete types beside the
/// polymorphic ones, and with the types that would be coerced beside the others. Each raises an error, and notes that it was called.
package enum OverloadTraps {
    /// Sets the traps, for sessions that begin from now on. There are traps for the enums and domains of `public` that exist now, too.
    /// It takes seconds, except in a database of the trait `.databaseWithOverloadTraps`, which has those for the server's own types.
    package static func set() async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        let areMissing: Bool = try await connection.query("SELECT to_regnamespace('traps') IS NULL").single().decode(0)
        if areMissing { try await make(on: connection) }
        try await connection.execute(script: "SET search_path = pg_catalog; \(CatalogRows.permission)")
        try await connection.execute(script: ownTypes)
        try await makeForNewTypes(on: connection)
        try await connection.execute(
            "ALTER DATABASE \(identifier: database.name) SET search_path = \"$user\", public, traps")
        await connection.close()
    }

    /// Makes the traps for the server's own types.
    static func make(on connection: Connection) async throws {
        try await connection.execute(script: functions)
        try await makeForNewTypes(on: connection)
        try await connection.execute(script: coercingFunctions)
        try await connection.execute(script: "GRANT USAGE ON SCHEMA traps TO PUBLIC")
    }

    private static func makeForNewTypes(on connection: Connection) async throws {
        for statement in [operators, polymorphicFunctions, "UPDATE traps.types SET is_new = false"] {
            try await connection.execute(script: statement)
        }
    }

    /// Whether a trap was called, even if its transaction was rolled back. A trap that a read-only transaction calls only raises
    /// an error.
    package static func haveFired() async throws -> Bool {
        try await TestDatabase.current.observer.query("SELECT is_called FROM traps.calls").single().decode(0)
    }

    private static let functions = """
        CREATE SCHEMA traps;
        CREATE SEQUENCE traps.calls;
        SET search_path = pg_catalog;
        \(CatalogRows.permission)
        CREATE FUNCTION traps.call() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
        BEGIN
            IF current_setting('transaction_read_only') = 'off' THEN
                PERFORM nextval('traps.calls');
            END IF;
            RAISE EXCEPTION 'a trap was called';
        END
        $$;
        CREATE FUNCTION traps.pattern() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN traps.call(); END';
        CREATE TABLE traps.types AS
            SELECT type::regtype AS type, type::regtype::text AS name, true AS is_new
            FROM unnest(string_to_array(
                'text varchar name "char" bool int2 int4 int8 numeric oid regclass regtype regnamespace regproc xid xid8 tid '
                'timestamptz interval uuid date jsonb text[] varchar[] int8[] int4[] int2[] oid[] name[] int2vector', ' ')) AS type;
        CREATE TABLE traps.near (type regtype, other regtype);
        INSERT INTO traps.near
            SELECT type, type FROM traps.types
            UNION VALUES ('text'::regtype, 'varchar'::regtype), ('text', 'name'), ('name', 'text'), ('name', 'varchar'),
                ('regclass', 'oid'), ('regclass', 'text'), ('oid', 'regclass'), ('oid', 'int8'), ('int8', 'int4'), ('int8', 'int2'),
                ('int4', 'int2'), ('numeric', 'int8'), ('numeric', 'int4'), ('timestamptz', 'date'), ('float8', 'int8'),
                ('float8', 'numeric'), ('regtype', 'oid'), ('regnamespace', 'oid'), ('regproc', 'oid'), ('text[]', 'varchar[]');
        """

    private static let ownTypes = """
        INSERT INTO traps.types
            SELECT oid, oid::regtype::text, true FROM pg_type
            WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd')
        """

    private static let operators =
        CatalogRows.functions(
            like: "traps.pattern",
            """
            SELECT 'operate', ARRAY[lower.type, upper.type]::oid[]
            FROM traps.types AS lower CROSS JOIN traps.types AS upper WHERE lower.is_new OR upper.is_new
            """)
        + CatalogRows.operators(
            calling: "operate", in: "traps",
            """
            SELECT kind.name, lower.type, upper.type
            FROM unnest(string_to_array('= <> < <= > >= || + - * / % ~ ~~ & | << >> @> <@ && -> ->> #> #>> ^', ' ')) AS kind (name)
            CROSS JOIN traps.types AS lower
            CROSS JOIN traps.types AS upper
            WHERE (lower.is_new OR upper.is_new)
                AND NOT EXISTS (
                    SELECT FROM pg_operator
                    WHERE oprname = kind.name AND oprleft = lower.type AND oprright = upper.type)
                AND CASE
                    WHEN kind.name IN ('=', '<>', '<', '<=', '>', '>=', '||') THEN true
                    WHEN kind.name IN ('+', '-', '*', '/', '%', '^', '&', '|', '<<', '>>')
                    THEN lower.name ~ 'int|big|num|date|time|oid|json' AND upper.name ~ 'int|big|num|date|time|oid|json|text'
                    WHEN kind.name IN ('~', '~~') THEN lower.name ~ 'text|char|name' AND upper.name ~ 'text|char|name'
                    WHEN kind.name IN ('@>', '<@', '&&') THEN lower.name ~ '\\[|json' AND upper.name ~ '\\[|json'
                    ELSE lower.name = 'jsonb' END
            """)

    /// A variadic argument gets one, two or three values.
    private static let polymorphicFunctions = CatalogRows.functions(
        like: "traps.pattern",
        """
        SELECT DISTINCT proname, ARRAY(
            SELECT CASE
                WHEN type.typname IN ('anyarray', 'anycompatiblearray')
                THEN (SELECT typarray FROM pg_type WHERE pg_type.oid = element.type)
                WHEN type.typname LIKE 'any%' THEN element.type
                ELSE type.oid END
            FROM unnest(proargtypes::oid[] || array_fill(provariadic, ARRAY[more])) WITH ORDINALITY AS given (type, number)
            CROSS JOIN LATERAL (SELECT oid, typname FROM pg_type WHERE oid = given.type LIMIT 1) AS type ORDER BY given.number)
        FROM pg_proc
        CROSS JOIN traps.types AS element
        CROSS JOIN generate_series(0, 2) AS more
        WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind IN ('f', 'a', 'w')
            AND element.is_new AND element.name NOT LIKE '%[]' AND element.name NOT LIKE '%vector'
            AND (more = 0 OR provariadic = '"any"'::regtype)
            AND EXISTS (
                SELECT FROM pg_type WHERE pg_type.oid = ANY (proargtypes) AND typname LIKE 'any%' AND typname NOT LIKE '%range%')
            AND NOT EXISTS (
                SELECT FROM pg_type
                WHERE pg_type.oid = ANY (proargtypes) AND typtype = 'p' AND (typname NOT LIKE 'any%' OR typname LIKE '%range%'))
            AND NOT EXISTS (SELECT FROM pg_operator WHERE oprcode = pg_proc.oid)
        """)

    /// The functions with types that would be coerced, except those that are already among the polymorphic functions.
    private static let coercingFunctions = CatalogRows.functions(
        like: "traps.pattern",
        """
        SELECT proname, arguments
        FROM (
            SELECT DISTINCT proname, CASE WHEN pronargs = 1 THEN ARRAY[first.other]::oid[]
                ELSE ARRAY[first.other, second.other]::oid[] END AS arguments
            FROM pg_proc
            JOIN traps.near AS first ON first.type = proargtypes[0]
            JOIN traps.near AS second ON second.type = CASE WHEN pronargs = 1 THEN 'text'::regtype ELSE proargtypes[1] END
            WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind IN ('f', 'a', 'w') AND pronargs IN (1, 2)
                AND (pronargs = 1 AND second.other = 'text'::regtype AND first.type <> first.other
                    OR pronargs = 2 AND (first.type <> first.other OR second.type <> second.other))
                AND pg_proc.oid NOT IN (
                    SELECT oprcode FROM pg_operator UNION SELECT castfunc FROM pg_cast UNION SELECT amproc FROM pg_amproc)) AS coercing
        WHERE NOT EXISTS (
            SELECT FROM pg_proc AS other
            WHERE other.proname = coercing.proname AND pronamespace = 'traps'::regnamespace
                AND proargtypes = array_to_string(arguments, ' ')::oidvector)
        """)
}
