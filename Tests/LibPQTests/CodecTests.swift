@testable import LibPQ
import SeededRandom
import TestLimit
import TestPostgres
import Testing

/// Every value is sent to the server, compared there with an SQL literal, and read back.
@Suite("Values on their way to the server and back", .commonDatabase, .usualTimeLimit) struct CodecTests {
    /// Sends the value, lets the server compare it with `literal`, and reads it back.
    private func expectRoundTrip<Value: PostgresEncodable & PostgresDecodable & Equatable>(
        _ value: Value, as literal: String, on connection: Connection, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let row = try await connection.query(
            "SELECT \(value), \(value) IS NOT DISTINCT FROM \(unsafeRaw: literal)"
        ).single()
        #expect(try row.decode(0, as: Value.self) == value, sourceLocation: sourceLocation)
        #expect(try row.decode(1, as: Bool.self), "\(literal) is another value", sourceLocation: sourceLocation)
    }

    @Test("Integers and booleans are encoded and decoded exactly, up to their limits") func integersAndBooleans()
        async throws
    {
        let connection = try await connect()
        for value in [0, 1, -1, Int64.max, .min] {
            try await expectRoundTrip(value, as: "'\(value)'::bigint", on: connection)
        }
        for value in [0, -1, Int32.max, .min] {
            try await expectRoundTrip(value, as: "'\(value)'::integer", on: connection)
        }
        for value in [true, false] { try await expectRoundTrip(value, as: "\(value)", on: connection) }
    }

    @Test("Smaller integers are decoded as larger integer types") func widensIntegers() async throws {
        let row = try await connect().query(
            "SELECT (-7)::smallint, (-70000)::integer, 4294967295::oid, (-7)::smallint"
        ).single()
        #expect(try row.decode(0, as: Int64.self) == -7)
        #expect(try row.decode(1, as: Int.self) == -70_000)
        #expect(try row.decode(2, as: Int64.self) == 4_294_967_295)
        #expect(try row.decode(3, as: Int32.self) == -7)
    }

    static let hostileTexts = [
        "", " ", "'", "\"", "\\", "\\'", "$1", "'); DROP TABLE items; --", "\t\n\r\u{8}\u{1}\u{7F}", "\\N", "NULL",
        "{a,b}",
        "ä", "a\u{308}", "👩‍👩‍👧‍👦🇩🇪", "\u{FEFF}", "\u{10FFFF}", "\u{202E}rtl", String(repeating: "x", count: 8191),
    ]

    @Test("Text with any characters is encoded and decoded unchanged") func anyCharacters() async throws {
        let connection = try await connect()
        for text in Self.hostileTexts {
            let row = try await connection.query(
                "SELECT \(text)::text, octet_length(\(text)::text), \(text)::text = \(literal: text), \([text])::text[]"
            ).single()
            #expect(Array(try row.decode(0, as: String.self).unicodeScalars) == Array(text.unicodeScalars))
            #expect(try row.decode(1) == text.utf8.count)
            #expect(try row.decode(2, as: Bool.self), "the literal is another text than \(text.debugDescription)")
            #expect(try row.decode(3) == [text])
        }
    }

    @Test("A megabyte of text is encoded and decoded unchanged") func megabyteOfText() async throws {
        let text = String(repeating: "ö'\\\n", count: 1 << 18)
        let row = try await connect().query("SELECT \(text)::text, \(text)::text = \(literal: text)").single()
        #expect(try row.decode(0) == text)
        #expect(try row.decode(1) == true)
    }

    @Test("Text is decoded from every text type") func everyTextType() async throws {
        let rows = try await connect().query(
            "SELECT 'a'::text, 'b'::varchar(3), 'c'::char(2), 'd'::name, 'e'::\"char\", '{\"f\": 1}'::json, 'g'")
        let texts: [String] = try (0..<7).map { try rows[0].decode($0) }
        #expect(texts == ["a", "b", "c ", "d", "e", "{\"f\": 1}", "g"])
    }

    @Test("A text parameter takes the type of the value that it is compared with") func typeOfTextParameter()
        async throws
    {
        let row = try await connect().query(
            """
            SELECT 7::bigint = \("7"), '0b5c6d3e-0000-0000-0000-000000000001'::uuid = \("0b5c6d3e000000000000000000000001"),
                date '2026-02-28' = \("2026-02-28")
            """
        ).single()
        for column in 0..<3 { #expect(try row.decode(column) == true) }
    }

    @Test("Text with NUL is refused before it is sent") func textWithNUL() async throws {
        let connection = try await connect()
        for statement in ["SELECT \("a\u{0}b")::text", "SELECT \(["a", "\u{0}"])", "SELECT '\(unsafeRaw: "\u{0}")'"]
            as [SQL]
        {
            let error = try await postgresError { _ = try await connection.query(statement) }
            #expect(error.code == .invalidValue)
            #expect(error.message.contains("NUL"))
        }
        #expect(try await connection.query("SELECT 1")[0].decode(0) == 1)
    }

    @Test("A statement that is too large for one message of the protocol is refused before it is sent")
    func tooLargeForMessage() throws {
        let statement: SQL = "SELECT \("four")::text, \(["three"])"
        let size = statement.text.utf8.count + statement.parameters.reduce(0) { $0 + ($1.bytes?.count ?? 0) }
        try refuseTooLarge(statement.text, statement.parameters, limit: size + 1000)
        // The server counts more than these bytes.
        #expect(throws: PostgresError.self) { try refuseTooLarge(statement.text, statement.parameters, limit: size) }
    }

    @Test("A numeric is encoded and decoded exactly") func numerics() async throws {
        let connection = try await connect()
        let texts = [
            "0", "0.00", "1", "-1", "10000", "0.0001", "-0.00010", "99999999", "123456789.987654321",
            "1000000000000000000000", "0.00000000000000000000000000000000000001",
            "4611686018427387903.0123456789012345678901234567890123456", "NaN", "Infinity", "-Infinity",
            "-12345678901234567890123456789012345678901234567890.5",
        ]
        for text in texts {
            let value = try #require(PostgresNumeric(text))
            try await expectRoundTrip(value, as: "'\(text)'::numeric", on: connection)
        }
    }

    @Test("Random numerics are decoded with the same digits that the server prints") func randomNumerics() async throws
    {
        var generator = SeededGenerator(for: "random numerics")
        let seed = Double.random(in: -1...1, using: &generator)
        let connection = try await connect()
        try await connection.execute("SELECT setseed(\(unsafeRaw: seed.description))")
        let rows = try await connection.query(
            """
            SELECT value, value::text FROM (
                SELECT (random() * 1e18 - 5e17)::numeric * power(10::numeric, (i % 41) - 20) AS value
                FROM generate_series(1, 2000) i
            ) samples
            """)
        #expect(rows.count == 2000)
        for row in rows {
            #expect(try row.decode(0, as: PostgresNumeric.self).text == row.decode(1))
        }
    }

    @Test(
        "Text that is not in numeric format is refused",
        arguments: ["", "-", ".", "1.", ".5", "1e5", "0x10", "1 ", "--1", "1.2.3", "nan", "+1"])
    func malformedNumerics(_ text: String) {
        #expect(PostgresNumeric(text) == nil)
    }

    @Test("A timestamptz is encoded and decoded to the microsecond") func timestamps() async throws {
        let connection = try await connect()
        let moments: [(Int64, String)] = [
            (0, "1970-01-01T00:00:00.000000Z"), (1, "1970-01-01T00:00:00.000001Z"), (-1, "1969-12-31T23:59:59.999999Z"),
            (946_684_800_000_000, "2000-01-01T00:00:00.000000Z"), (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_772_323_199_123_456, "2026-02-28T23:59:59.123456Z"),
            (-62_135_596_800_000_001, "0000-12-31T23:59:59.999999Z"),
        ]
        for (microseconds, description) in moments {
            let value = Timestamp(microsecondsSinceEpoch: microseconds)
            let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
            try await expectRoundTrip(
                value, as: "timestamptz 'epoch' + interval '\(seconds) seconds' + interval '\(rest) microseconds'",
                on: connection)
            #expect(value.description == description)
        }
    }

    @Test("The extreme values of timestamptz are decoded, and values out of range are refused") func extremeTimestamps()
        async throws
    {
        let connection = try await connect()
        try await expectRoundTrip(Timestamp.infinity, as: "timestamptz 'infinity'", on: connection)
        try await expectRoundTrip(Timestamp.negativeInfinity, as: "timestamptz '-infinity'", on: connection)
        let row = try await connection.query(
            """
            SELECT timestamptz '4713-11-24 00:00:00+00 BC', timestamptz '294247-01-10 04:00:54.775806+00',
                timestamptz '294276-12-31'
            """
        ).single()
        #expect(try row.decode(0, as: Timestamp.self).description == "-4712-11-24T00:00:00.000000Z")
        #expect(try row.decode(1, as: Timestamp.self).description == "294247-01-10T04:00:54.775806Z")
        #expect(throws: PostgresError.self) { try row.decode(2, as: Timestamp.self) }
    }

    @Test("Timestamps are printed in the same format as the server prints them") func printedTimestamps() async throws {
        let rows = try await connect().query(
            """
            SELECT moment, to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
            FROM generate_series(timestamptz '1890-01-01 00:00Z', '2110-01-01', interval '37 days 01:02:03.000456') moment
            """)
        #expect(rows.count > 2000)
        for row in rows { #expect(try row.decode(0, as: Timestamp.self).description == row.decode(1)) }
    }

    @Test("Arrays are encoded and decoded, also empty arrays and NULL elements") func arrays() async throws {
        let connection = try await connect()
        try await expectRoundTrip(
            [Int64.max, .min, 0], as: "ARRAY[9223372036854775807, -9223372036854775808, 0]::bigint[]", on: connection)
        try await expectRoundTrip([Int64](), as: "'{}'::bigint[]", on: connection)
        try await expectRoundTrip([1, nil] as [Int64?], as: "ARRAY[1, NULL]::bigint[]", on: connection)
        try await expectRoundTrip([3, 2] as [Int], as: "ARRAY[3, 2]::bigint[]", on: connection)
        try await expectRoundTrip(
            ["", "a", "NULL", "{}", "\"", ","], as: #"ARRAY['', 'a', 'NULL', '{}', '"', ',']"#, on: connection)
        try await expectRoundTrip([nil, "", nil] as [String?], as: "ARRAY[NULL, '', NULL]::text[]", on: connection)
        try await expectRoundTrip(
            Self.hostileTexts, as: "ARRAY[\(Self.hostileTexts.map(quoteLiteral).joined(separator: ","))]",
            on: connection)
    }

    @Test("Arrays of other types are decoded if their elements can be decoded") func arraysOfOtherTypes() async throws {
        let row = try await connect().query(
            "SELECT '{1,2}'::integer[], '{-3}'::smallint[], '{a,b}'::varchar[], '{c}'::name[], '[5:6]={x,y}'::text[]"
        ).single()
        #expect(try row.decode(0) == [1, 2])
        #expect(try row.decode(1) == [Int64(-3)])
        #expect(try row.decode(2) == ["a", "b"])
        #expect(try row.decode(3) == ["c"])
        #expect(try row.decode(4) == ["x", "y"])
    }

    @Test("Ten thousand texts fit into one parameter") func tenThousandTexts() async throws {
        let texts = (0..<10_000).map { "item \($0) \(String(repeating: "ü", count: $0 % 500))" }
        let row = try await connect().query("SELECT cardinality(\(texts)), \(texts)").single()
        #expect(try row.decode(0) == 10_000)
        #expect(try row.decode(1) == texts)
    }

    @Test("NULL is encoded from nil and decoded to nil") func nullAndNil() async throws {
        let connection = try await connect()
        let row = try await connection.query(
            "SELECT \(nil as Int64?), \(nil as String?)::text, \(nil as [String]?), \(nil as Bool?), \(nil as Timestamp?)"
        ).single()
        #expect(try row.decode(0, as: Int64?.self) == nil)
        #expect(try row.decode(1, as: String?.self) == nil)
        #expect(try row.decode(2, as: [String]?.self) == nil)
        #expect(try row.decode(3, as: Bool?.self) == nil)
        #expect(try row.decode(4, as: Timestamp?.self) == nil)
        #expect(try await connection.query("SELECT \(7 as Int64?)")[0].decode(0, as: Int64?.self) == 7)
    }

    @Test("A value of a domain is decoded as its base type") func domains() async throws {
        let connection = try await connect()
        try await connection.execute(script: "CREATE DOMAIN pg_temp.place AS bigint CHECK (VALUE > 0)")
        #expect(try await connection.query("SELECT 5::pg_temp.place")[0].decode(0) == 5)
    }
}
