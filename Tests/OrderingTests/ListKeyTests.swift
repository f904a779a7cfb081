import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Ordering

@Suite("The function brocot.list_key", .commonMigratedDatabase, .usualTimeLimit)
struct ListKeyTests {
    /// The arguments, and the name.
    private static let names: [(String, String?)] = [
        ("VARIADIC '{}'", ""), ("'7'", "7"), ("'[\"7\"]'", "[\"7\"]"), ("'7', 'todo'", #"["7", "todo"]"#),
        ("'a\"b', E'\\u00e9\\n'", #"["a\"b", "é\n"]"#), ("''", ""), ("'', ''", #"["", ""]"#),
        ("NULL", nil), ("'7', NULL", nil), ("VARIADIC '[2:2]={7}'", "7"),
    ]

    @Test("brocot.list_key makes the name of a list from the texts of its columns") func key() async throws {
        let connection = try await TestDatabase.current.connect()
        for (arguments, expected) in Self.names {
            let row = try await connection.query("SELECT brocot.list_key(\(unsafeRaw: arguments))").single()
            #expect(try row.decode(0, as: String?.self) == expected, "\(arguments)")
        }
    }

    @Test("A list key is read back only if it has the spelling that jsonb prints")
    func readBack() async throws {
        let connection = try await TestDatabase.current.connect()
        for parts in [["7", "todo"], ["a\"b\\", "é\u{1}\u{8}\t\n\u{7f}/\u{1f}", "e\u{301}"], ["", ""]] {
            let row = try await connection.query("SELECT brocot.list_key(VARIADIC \(parts))").single()
            let key = try row.decode(0, as: String.self)
            #expect(ListKey.parts(of: key) == parts)
        }
        for key in [
            "", "7", "[\"7\",\"todo\"]", "[\"7\", \"\\u0074\"]", "[7, \"todo\"]", "[\"7\", \"todo\"] ", "[\"7\", null]",
            #"["\u0000", "todo"]"#,
        ] {
            #expect(ListKey.parts(of: key) == nil, "\(key)")
        }
    }

    @Test("A list of a table has only one valid name")
    func oneName() {
        func table(_ columns: [KeyColumn]) -> OrderedTable {
            OrderedTable(
                name: "t", schema: "public", table: "t", listColumns: columns, itemColumn: KeyColumn("id", .bigint),
                ownsRows: false)
        }
        let two = table([KeyColumn("team", .bigint), KeyColumn("state", .text)])
        #expect(two.rejection(ofList: #"["7", "todo"]"#) == nil)
        for key in [#"["07", "todo"]"#, #"["7","todo"]"#, "7", #"["7", "todo", "x"]"#] {
            #expect(two.rejection(ofList: key)?.code == .invalidKey, "\(key)")
        }
        #expect(table([]).rejection(ofList: "") == nil)
        #expect(table([]).rejection(ofList: "7")?.code == .invalidKey)
    }
}
