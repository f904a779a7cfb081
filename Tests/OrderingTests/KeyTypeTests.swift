import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Ordering

@Suite("Canonical keys", .commonDatabase, .usualTimeLimit)
struct KeyTypeTests {
    /// The keys that PostgreSQL itself takes for values of the type and prints as they are.
    private func printed(_ keys: [String], as type: String, _ connection: Connection) async throws -> [String] {
        try await connection.execute(
            script: """
                CREATE OR REPLACE FUNCTION pg_temp.printed(key text) RETURNS boolean LANGUAGE plpgsql AS $$
                BEGIN RETURN key::\(type)::text = key; EXCEPTION WHEN data_exception THEN RETURN false; END $$;
                """)
        return try await connection.query(
            "SELECT key FROM unnest(\(keys)) WITH ORDINALITY AS given (key, number) WHERE pg_temp.printed(key) ORDER BY number"
        ).map { try $0.decode(0) }
    }

    private static let keys: [String] =
        [
            "", "0", "00", "-0", "+1", "1", "-1", " 1", "01", "1.0", "32767", "32768", "2147483647", "2147483648",
            "9223372036854775807", "9223372036854775808", "true", "false", "t", "on", "TRUE", "sad", "so-so", "Sad",
            "infinity", "-infinity", "Infinity", "today", "epoch",
            "2026-11-21", "2026-1-21", "20261121", "2026-02-29", "2024-02-29", "1900-02-29", "2000-02-29", "21-11-2026",
            "2026-11-31", "2026-13-01", "2026-00-10", "2026-01-00", "0001-01-01", "0000-01-01", "999-01-01",
            "10000-01-01", "010000-01-01", "5874897-12-31", "5874898-01-01", "0001-02-29 BC", "0005-02-29 BC",
            "0002-02-29 BC", "4713-01-01 BC", "4714-11-24 BC", "4714-11-23 BC", "4715-01-01 BC", "0044-03-15 bc",
            "6f2c1c0e-7a4d-4c7e-9a39-0f3c1f6b2d11", "6F2C1C0E-7A4D-4C7E-9A39-0F3C1F6B2D11",
            "6f2c1c0e7a4d4c7e9a390f3c1f6b2d11", "{6f2c1c0e-7a4d-4c7e-9a39-0f3c1f6b2d11}",
        ]

    private static let types: [(KeyType, String)] = [
        (.smallint, "smallint"), (.integer, "integer"), (.bigint, "bigint"), (.uuid, "uuid"),
        (.boolean, "boolean"), (.date, "date"), (.text, "text"), (.varchar(longest: nil), "varchar"),
        (.varchar(longest: 4), "varchar(4)"),
        (.enumeration(.init(schema: "public", name: "mood", labels: ["sad", "so-so", "true"])), "mood"),
    ]

    @Test("A key is canonical exactly if PostgreSQL prints its value with the same spelling")
    func canonical() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: "SET DateStyle = 'ISO, DMY'; CREATE TYPE pg_temp.mood AS ENUM ('sad', 'so-so', 'true')")
        for (type, name) in Self.types {
            let printed = try await printed(Self.keys, as: name, connection)
            #expect(Self.keys.filter(type.isCanonical) == printed, "\(name)")
        }
    }
}
