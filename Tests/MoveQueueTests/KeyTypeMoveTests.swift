import LibPQ
import MoveQueue
import Ordering
import OrderingModel
import TestLimit
import TestPostgres
import Testing

@Suite("Key types of moved rows", .database, .usualTimeLimit)
struct KeyTypeMoveTests {
    /// A type, and two lists and items of it.
    private struct Keys {
        let type: String
        let values: [String]
    }

    private static let keys = [
        Keys(type: "text COLLATE \"C\"", values: ["a", "é"]), Keys(type: "varchar(20)", values: ["{a}", "b"]),
        Keys(type: "smallint", values: ["-7", "8"]), Keys(type: "integer", values: ["7", "8"]),
        Keys(type: "bigint", values: ["9223372036854775807", "0"]), Keys(type: "boolean", values: ["true", "false"]),
        Keys(
            type: "uuid", values: ["6f2c1c0e-7a4d-4c7e-9a39-0f3c1f6b2d11", "00000000-0000-0000-0000-000000000000"]),
        Keys(type: "date", values: ["2026-11-21", "infinity"]),
        Keys(type: #""The types"."Mood""#, values: ["so-so", "Great, isn't it"]),
        Keys(type: #""The types".short"#, values: ["a", "b"]), Keys(type: #""The types".shorter"#, values: ["a", "b"]),
    ]

    @Test("Rows with keys of every allowed type are moved, also with a German DateStyle") func move() async throws {
        let fixture = try await QueueFixture()
        try await fixture.connection.execute(
            script: """
                DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET DateStyle = ''German''', current_database()); END $$;
                CREATE SCHEMA "The types";
                CREATE TYPE "The types"."Mood" AS ENUM ('so-so', 'Great, isn''t it');
                CREATE DOMAIN "The types".short AS text CHECK (length(VALUE) < 3);
                CREATE DOMAIN "The types".shorter AS "The types".short CHECK (length(VALUE) < 2);
                """)
        for (number, keys) in Self.keys.enumerated() { try await createTable(number, of: keys, fixture.connection) }
        let ids = try await fixture.enqueue(
            Self.keys.enumerated().flatMap { number, keys in
                let list = ListIdentifier(orderedTable: "public.cards_\(number)", key: keys.values[0])
                return [
                    Move(list: list, items: keys.values, action: .place(.last, from: nil)),
                    Move(list: list, items: [keys.values[0]], action: .place(.after(keys.values[1]), from: nil)),
                ]
            })
        try await fixture.drain()
        let outcomes = try await fixture.outcomes()
        for (number, keys) in Self.keys.enumerated() {
            #expect(ids[2 * number...2 * number + 1].map { outcomes[$0] } == [.some(nil), .some(nil)], "\(keys.type)")
            let cards: [String] = try await fixture.connection.query(
                "SELECT to_jsonb(card) #>> '{}' FROM cards_\(unsafeRaw: "\(number)") ORDER BY rank"
            ).map { try $0.decode(0) }
            #expect(cards == keys.values.reversed(), "\(keys.type)")
        }
    }

    private func createTable(_ number: Int, of keys: Keys, _ connection: Connection) async throws {
        try await connection.execute(
            script: RegisteredTable.script(
                "public.cards_\(number)", columns: "board \(keys.type), card \(keys.type), PRIMARY KEY (board, card)"))
        for card in keys.values {
            try await connection.execute(
                """
                INSERT INTO cards_\(unsafeRaw: "\(number)") (board, card)
                VALUES (\(literal: keys.values[0]), \(literal: card))
                """)
        }
    }
}
