import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Rows without a place, in brocot check and --repair", .database, .usualTimeLimit)
struct UnplacedRowTests {
    private static let unplacedRows = """
        SET session_replication_role = replica; INSERT INTO tasks VALUES (7, 1), (6, 1); RESET session_replication_role
        """

    @Test("Rows whose key is too long for a place are named apart from those that can be placed")
    func unplaceable() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id text PRIMARY KEY, project_id text);
            INSERT INTO tasks VALUES ('d', 'a');
            """)
        try await fixture.attach()
        try await fixture.connection.execute(
            "INSERT INTO tasks VALUES ('', 'a'), (repeat('x', 1025), 'a'), ('c', repeat('x', 1025))")
        let findings = try await fixture.findings(of: fixture.registered())
        #expect(findings.checkedTable?.unplacedRows == 3 && findings.checkedTable?.unplaceableRows == 3)
        #expect(
            findings.lines() == [
                "all is right",
                """
                3 rows are in a list but can have no place: the key of the item is empty, or the key of the item or the list is longer \
                than 1024 bytes
                """,
            ])
    }

    @Test("brocot check --repair does not treat unplaced rows as damage, and leaves them alone") func unplaced()
        async throws
    {
        let (fixture, found) = try await AttachFixture.repaired(Self.unplacedRows)
        #expect(
            found == [
                "all is right",
                """
                2 rows are in a list but have no place (new, removed from the order, or never placed). To place all of them: \
                brocot check --repair --place-rows --table public.tasks
                """,
            ])
        #expect(try await fixture.requests() == [])
    }

    @Test("brocot check --repair can also ask for unplaced rows to be placed") func placedRows() async throws {
        let (fixture, found) = try await AttachFixture.repaired(Self.unplacedRows, placingRows: true)
        #expect(found.last?.contains("The daemon is asked to place them") == true)
        #expect(try await fixture.requests() == ["public.tasks 1 {6,7} arrive"])
    }

    @Test("brocot check --repair places more rows than one request can have before all others if rows arrive first")
    func placedFirst() async throws {
        let fixture = try await AttachFixture("CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)")
        try await fixture.attach(AttachFixture.definition(arrive: .first))
        try await fixture.connection.execute(
            script: """
                INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 12000) AS n; TRUNCATE brocot.move_requests;
                """)
        try await fixture.repairAsRegistered(placingRows: true)
        try await fixture.connection.execute("SELECT brocot.apply_pending()")
        #expect(
            try await fixture.texts("SELECT array_agg(id ORDER BY rank) = array_agg(id ORDER BY id) FROM tasks") == [
                "t"
            ])
    }
}
