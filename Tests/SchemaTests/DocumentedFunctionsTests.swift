import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Functions that docs/sql.md lists", .database, .usualTimeLimit) struct DocumentedFunctionsTests {
    @Test("Each function of the section of all functions has the signatures of the schema, with every overload")
    func signatures() async throws {
        let lines = try Repository.code(in: "", ofSection: "All functions", in: "docs/sql.md")[0].split(separator: "\n")
        let documented = lines.filter { !$0.hasPrefix("-- ") }.joined(separator: "\n")
            .replacing("\n    ", with: " ").split(separator: "\n").flatMap(Self.overloads).sorted()
        let names = Set(documented.map { String($0.prefix { $0 != "(" }) })
        #expect(names.count >= 20)
        let rows = try await TestDatabase.current.connect().query(
            """
            SELECT 'brocot.' || proname || '(' || pg_get_function_arguments(oid) || ')' || coalesce(
                ' RETURNS ' || pg_get_function_result(oid), '')
            FROM pg_proc WHERE pronamespace = 'brocot'::regnamespace AND 'brocot.' || proname = ANY (\(Array(names)))
            """)
        let existing = try rows.map { try $0.decode(0, as: String.self) }
        #expect(documented == existing.map(Self.withoutCasts).sorted())
    }

    /// The signatures of a line: `L` stands for three types.
    private static func overloads(of line: Substring) -> [String] {
        let line = String(line).replacing("TABLE (", with: "TABLE(")
        guard line.contains("list L") else { return [line] }
        return ["text", "bigint", "uuid"].map { line.replacing("list L", with: "list \($0)") }
    }

    /// A signature as the server prints it, without the types of the defaults.
    private static func withoutCasts(_ signature: String) -> String {
        signature.replacing(#/::\w+/#, with: "")
    }
}
