import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Ordering

@Suite(
    "Key columns of a registered table", .database,
    .enabled("the server knows no collations of ICU") { try await ServerBuild.knowsICU() }, .usualTimeLimit)
struct KeyColumnTests {
    private func table(list: String, item: String) async throws -> OrderedTable? {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
                \(RegisteredTable.script(columns: "id \(item) PRIMARY KEY, board \(list) NOT NULL", item: "id"))
                """)
        return try await connection.run { connection in
            try OrderedTable.named("public.cards", on: connection)
        }
    }

    @Test("Key columns have their types, also with a deterministic ICU collation") func types() async throws {
        let table = try await table(list: #"text COLLATE "und-x-icu""#, item: "bigint")
        #expect(table?.listColumns.map(\.type) == [.text] && table?.itemColumn.type == .bigint)
    }

    @Test(
        "A key column with a nondeterministic collation is refused: one list would have two locks",
        arguments: ["board", "id"])
    func nondeterministicCollation(_ column: String) async throws {
        let (folding, plain) = ("varchar(20) COLLATE any_case", "text")
        let refusal = await refusal {
            try await table(list: column == "board" ? folding : plain, item: column == "id" ? folding : plain)
        }
        let reason = "column \(column) of public.cards has type character varying with a nondeterministic collation"
        #expect(refusal?.contains(reason) == true, "\(refusal ?? "")")
    }
}
