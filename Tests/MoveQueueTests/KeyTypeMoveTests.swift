import LibPQ
import MoveQueue
import Ordering
import OrderingModel
import TestPostgres
import Testing

@Suite("Key types of moved rows", .database, .timeLimit(.minutes(30)))
struct KeyTypeMoveTests {
    /// A type, two lists and two items of it.
    struct Keys: Sendable, CustomTestStringConvertible {
        let type: String
        let values: [String]
        var testDescription: String { type }
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

    @Test("Rows with keys of every allowed type are moved, also with a German DateStyle", arguments: keys) func move(
        keys: Keys
    ) async throws {
        let fixture = try await QueueFixture()
        try await fixture.connection.execute(
            script: """
                DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET DateStyle = ''German''', current_database()); END $$;
                CREATE SCHEMA "The types";
                CREATE TYPE "The types"."Mood" AS ENUM ('so-so', 'Great, isn''t it');
                CREATE DOMAIN "The types".short AS text CHECK (length(VALUE) < 3);
                CREATE DOMAIN "The types".shorter AS "The types".short CHECK (length(VALUE) < 2);
                CREATE TABLE cards (
                    board \(keys.type), card \(keys.type), rank_num bigint, rank_den bigint,
                    rank numeric,
                    PRIMARY KEY (board, card), UNIQUE (board, rank) DEFERRABLE INITIALLY IMMEDIATE);
                INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{board}', 'card', false);
                """)
        for card in keys.values {
            try await fixture.connection.execute(
                "INSERT INTO cards (board, card) VALUES (\(literal: keys.values[0]), \(literal: card))")
        }
        let list = ListIdentifier(orderedTable: "public.cards", list: keys.values[0])
        let ids = try await fixture.enqueue([
            Move(list: list, items: keys.values, action: .place(.last, from: nil)),
            Move(list: list, items: [keys.values[0]], action: .place(.after(keys.values[1]), from: nil)),
        ])
        try await fixture.drain()
        let outcomes = try await fixture.outcomes()
        #expect(ids.map { outcomes[$0] } == [.some(nil), .some(nil)])
        let cards: [String] = try await fixture.connection.query(
            "SELECT to_jsonb(card) #>> '{}' FROM cards ORDER BY rank"
        ).map { try $0.decode(0) }
        #expect(cards == keys.values.reversed())
    }
}
