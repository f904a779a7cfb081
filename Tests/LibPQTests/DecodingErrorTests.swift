import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Errors of decoding", .commonDatabase, .usualTimeLimit) struct DecodingErrorTests {
    private func error<Value: PostgresDecodable>(_ statement: SQL, as type: Value.Type) async throws -> PostgresError {
        let row = try await connect().query(statement)[0]
        let error = try #require(throws: PostgresError.self) { try row.decode(0, as: type) }
        #expect(error.code == .decoding)
        return error
    }

    @Test("A decoding error names the column, its type and the requested type") func namesColumnAndTypes() async throws
    {
        let error = try await error("SELECT 'x' AS total", as: Int64.self)
        #expect(
            error.message == """
                row 1, column 0 "total" of type text can't be read as Int64: there is no such conversion; cast it in the \
                statement
                """)
    }

    @Test("Decoding NULL as a value that is not optional fails") func nullForRequiredValue() async throws {
        let error = try await error("SELECT NULL::bigint AS rank", as: Int64.self)
        #expect(error.message == "row 1, column 0 \"rank\" of type bigint can't be read as Int64: it is NULL")
    }

    @Test("Decoding an integer as a smaller type fails") func tooLargeInteger() async throws {
        #expect(try await error("SELECT 1::bigint", as: Int32.self).message.contains("bigint can't be read as Int32"))
    }

    @Test("A NULL element of an array is reported with its number") func nullElement() async throws {
        let error = try await error("SELECT ARRAY['a', NULL] AS items", as: [String].self)
        #expect(error.message.contains(#""items" of type text[] can't be read as [String]: element 2 is NULL"#))
    }

    @Test("Decoding an array of two dimensions fails") func twoDimensions() async throws {
        let error = try await error("SELECT ARRAY[['a'], ['b']]", as: [String].self)
        #expect(error.message.contains("2 dimensions instead of one"))
    }

    @Test("Decoding an array with other element types fails") func otherElementTypes() async throws {
        #expect(try await error("SELECT '{1}'::bigint[]", as: [String].self).message.contains("bigint[] can't be read"))
        #expect(try await error("SELECT '{1}'::numeric[]", as: [Int64].self).message.contains("1231"))
        #expect(try await error("SELECT 1", as: [Int64].self).message.contains("integer can't be read as [Int64]"))
    }

    @Test("An unknown type is named by its object identifier") func unknownType() async throws {
        let error = try await error("SELECT '12:00'::time", as: String.self)
        #expect(error.message.contains("of type with object identifier 1083 can't be read as String"))
    }

    @Test("A missing column is reported with the existing columns") func missingColumn() async throws {
        let row = try await connect().query("SELECT 1 AS \"a\", 2 AS \"B\"")[0]
        #expect(try row.decode("B") == 2)
        let byName = try #require(throws: PostgresError.self) { try row.decode("b", as: Int.self) }
        #expect(byName.message == "there is no column \"b\"; the result has a, B")
        for column in [-1, 2, .max] {
            let byNumber = try #require(throws: PostgresError.self) { try row.decode(column, as: Int.self) }
            #expect(byNumber.message == "there is no column \(column); the result has 2, counted from 0")
        }
    }

    @Test("Reading a single row fails if there are no rows or several rows") func singleRow() async throws {
        let connection = try await connect()
        for count in [0, 2] {
            let rows = try await connection.query("SELECT generate_series(1, \(count))")
            let error = try #require(throws: PostgresError.self) { try rows.single() }
            #expect(error.message == "the statement returned \(count) rows instead of one")
        }
    }
}
