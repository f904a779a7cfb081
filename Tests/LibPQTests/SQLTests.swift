import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("SQL with values", .usualTimeLimit) struct SQLTests {
    @Test("A value becomes a parameter, numbered from left to right") func numbersParameters() {
        let statement: SQL = "SELECT \(1) + \(2), \("x")"
        #expect(statement.text == "SELECT $1 + $2, $3")
    }

    @Test("A digit after a value is no part of the number of its parameter") func digitAfterValue() {
        let statement: SQL = "SELECT \(1)0, \(2)\(unsafeRaw: "5")"
        #expect(statement.text == "SELECT $1 0, $2 5")
    }

    @Test("A fragment is inserted with its parameters") func insertsFragment() {
        let condition: SQL = "a = \(1) AND b = \(2)"
        let statement: SQL = "SELECT \("x") WHERE \(condition) OR c = \(3)"
        #expect(statement.text == "SELECT $1 WHERE a = $2 AND b = $3 OR c = $4")
    }

    @Test("Fragments are joined with their parameters") func joinsFragments() {
        let fragments: [SQL] = ["\(1)", "now()", "\(2)"]
        #expect(fragments.joined().text == "$1, now(), $2")
        #expect(fragments.joined(separator: " + \(9) + ").text == "$1 + $2 + now() + $3 + $4")
        #expect([SQL]().joined().text == "")
    }

    @Test("Identifiers, literals and raw text become part of the statement's text") func partsOfText() {
        let statement: SQL =
            "SELECT \(identifier: "a\"b").\(identifier: "C") = \(literal: "it's"), \(unsafeRaw: "1 + 1")"
        #expect(statement.text == #"SELECT "a""b"."C" = 'it''s', 1 + 1"#)
    }

    @Test("A printed statement shows no values") func printsNoValues() {
        let statement: SQL = "SELECT \("a secret")"
        #expect("\(statement)" == "SELECT $1")
    }

    @Test("A quoted identifier keeps its exact name", .commonDatabase) func quotedIdentifier() async throws {
        let connection = try await connect()
        for name in CodecTests.hostileTexts where !name.isEmpty && name.utf8.count < 64 {
            let row = try await connection.query("SELECT 1 AS \(identifier: name)").single()
            #expect(try row.decode(name) == 1)
        }
    }

    @Test(
        "A quoted literal keeps its exact text for each setting of standard_conforming_strings", .commonDatabase,
        arguments: ["on", "off"])
    func quotedLiteral(_ setting: String)
        async throws
    {
        let connection = try await connect()
        try await connection.execute(script: "SET standard_conforming_strings = \(setting)")
        for text in CodecTests.hostileTexts {
            #expect(try await connection.query("SELECT\(literal: text)::text")[0].decode(0) == text)
        }
    }
}
