import LibPQ
import TestPostgres
import Testing

@Suite("brocot.list_key names a list by the texts of its columns", .database, .timeLimit(.minutes(10)))
struct ListKeyTests {
    @Test(
        arguments: [
            ("VARIADIC '{}'", ""), ("'7'", "7"), ("'[\"7\"]'", "[\"7\"]"), ("'7', 'todo'", #"["7", "todo"]"#),
            ("'a\"b', E'\\u00e9\\n'", #"["a\"b", "é\n"]"#), ("''", ""), ("'', ''", #"["", ""]"#),
            ("NULL", nil), ("'7', NULL", nil), ("VARIADIC '[2:2]={7}'", "7"),
        ] as [(String, String?)]) func key(arguments: String, expected: String?) async throws
    {
        let connection = try await TestDatabase.current.connect()
        let row = try await connection.query("SELECT brocot.list_key(\(unsafeRaw: arguments))").single()
        #expect(try row.decode(0, as: String?.self) == expected)
    }
}
