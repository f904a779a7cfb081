import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Types with the names of the server's", .database, .usualTimeLimit) struct TypeNameTests {
    private static let cards = """
        CREATE TABLE tasks (id uuid PRIMARY KEY, project_id text);
        INSERT INTO tasks SELECT md5(n::text)::uuid, 'a' FROM generate_series(1, 3) AS n;
        """

    private static let (first, fourth) = (
        "c4ca4238-a0b9-2382-0dcc-509a6f75849b", "a87ff679-a2f3-e71d-9181-a67b7542122c"
    )

    @Test(
        "A temporary table changes no move and no INSERT, whatever its name",
        arguments: ["record", "uuid", "text", "numeric", "int8", "oid", "tid"])
    func temporaryTable(name: String) async throws {
        let fixture = try await AttachFixture(Self.cards)
        try await fixture.attach(AttachFixture.definition(arriveNow: true))
        try await fixture.connection.execute("CREATE TEMPORARY TABLE \(identifier: name) (x int)")
        try await fixture.connection.execute(
            script: """
                SELECT brocot.move_now('a', md5('1')::pg_catalog.uuid, last => true, ordered_table => 'public.tasks');
                SELECT brocot.move_now('items', 'x', first => true);
                """)
        try await fixture.connection.execute("INSERT INTO tasks VALUES (md5('4')::pg_catalog.uuid, 'a')")
        try await fixture.connection.execute("DISCARD TEMPORARY")
        #expect(try await fixture.texts("SELECT id FROM tasks ORDER BY rank OFFSET 2") == [Self.first, Self.fourth])
        #expect(try await fixture.texts("SELECT count(*) FROM tasks WHERE rank IS NULL") == ["0"])
        #expect(try await fixture.requests() == [])
    }

    @Test(
        "A domain that stands before pg_catalog in the search_path is not used", arguments: ["uuid", "text", "record"])
    func domain(name: String) async throws {
        let fixture = try await AttachFixture(Self.cards)
        try await fixture.attach()
        let type =
            name == "record"
            ? "CREATE TYPE public.record AS (key pg_catalog.text, num public.trap)"
            : "CREATE DOMAIN public.\(name) AS pg_catalog.\(name) CHECK (public.trap(VALUE::pg_catalog.text))"
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION public.trap(value text) RETURNS boolean LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'a function of another role was called'; END $$;
                CREATE DOMAIN public.trap AS bigint CHECK (public.trap(VALUE::text));
                \(type);
                SET search_path = public, pg_catalog;
                SELECT brocot.move_now('a'::pg_catalog.text, pg_catalog.md5('1')::pg_catalog.uuid, last => true, ordered_table => 'public.tasks');
                RESET search_path;
                """)
        #expect(try await fixture.texts("SELECT id FROM tasks ORDER BY rank OFFSET 2") == [Self.first])
    }
}
