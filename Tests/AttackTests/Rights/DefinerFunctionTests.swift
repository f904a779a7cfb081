import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Routines of schema brocot", .database, .usualTimeLimit) struct DefinerFunctionTests {
    /// The routines that run with the owner's rights, with the reason. See docs/decisions/rights-of-functions.md.
    private static let justified = [
        "brocot.skip_duplicate_request()": "a role that may ask for a move may not write a key without a request"
    ]

    @Test("Only routines with a written reason run with the owner's rights")
    func definersAreJustified() async throws {
        let found = try await routines(where: "prosecdef")
        #expect(found == Self.justified.keys.sorted())
    }

    @Test("A routine with the owner's rights is not public, and has a safe search_path")
    func definersAreClosed() async throws {
        let open: SQL = "prosecdef AND has_function_privilege('public', oid, 'EXECUTE')"
        #expect(try await routines(where: open) == [])
        let searching: SQL = "prosecdef AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(proconfig, '{}'))"
        #expect(try await routines(where: searching) == [])
    }

    @Test("A routine with the owner's rights takes no value of a type that the caller chooses")
    func definersTakeFixedTypes() async throws {
        let polymorphic: SQL = """
            prosecdef AND EXISTS (
                SELECT FROM unnest(proargtypes) AS argument JOIN pg_type ON pg_type.oid = argument
                WHERE typtype = 'p' OR typnamespace <> 'pg_catalog'::regnamespace)
            """
        #expect(try await routines(where: polymorphic) == [])
    }

    private func routines(where condition: SQL) async throws -> [String] {
        let connection = try await TestDatabase.current.connect()
        let rows = try await connection.query(
            """
            SELECT oid::regprocedure::text FROM pg_proc
            WHERE pronamespace = 'brocot'::regnamespace AND \(condition) ORDER BY 1
            """)
        return try rows.map { try $0.decode(0) }
    }
}
