import Administration
@testable import Brocot
import Foundation
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Direct calls of the library", .database, .usualTimeLimit)
struct LibraryMoveTests {
    @Test("Items can be placed at both ends, beside an anchor, at a position, and as a block")
    func placements() async throws {
        let fixture = try await LibraryFixture()
        let client = fixture.client
        try await client.place(["b", "c"], .last, in: "list")
        try await client.place(["a"], .first, in: "list")
        try await client.place(["f"], .after("c"), in: "list")
        try await client.place(["d", "e"], .before("f"), in: "list")
        #expect(try await fixture.items(of: "list") == ["a", "b", "c", "d", "e", "f"])
        try await client.place(["a", "c"], .at(1), in: "list")
        #expect(try await fixture.items(of: "list") == ["b", "a", "c", "d", "e", "f"])
        try await client.place(["b"], .at(100), in: "list")
        #expect(try await fixture.items(of: "list") == ["a", "c", "d", "e", "f", "b"])
    }

    @Test("Single items can be moved, and keys can be numbers or UUIDs")
    func otherKeys() async throws {
        let fixture = try await LibraryFixture()
        let (board, card) = (UUID(), UUID())
        let list = ListIdentifier(board)
        try await fixture.client.place(card, .last, in: list)
        try await fixture.client.place([1, 2], .before(card), in: list)
        try await fixture.client.place("a", .after(1), in: list)
        try await fixture.client.transaction { transaction in try transaction.remove(2, from: list) }
        #expect(try await fixture.items(of: board.uuidString.lowercased()) == ["1", "a", card.uuidString.lowercased()])
        try await fixture.client.place(1, .first, in: ListIdentifier(7), from: board.itemKey)
        #expect(try await fixture.items(of: "7") == ["1"])
    }

    @Test("Items that are placed from another list leave that list")
    func changeOfList() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.client.place(["a", "b", "c"], .last, in: "todo")
        try await fixture.client.place(["x"], .last, in: "done")
        try await fixture.client.place(["c", "a"], .before("x"), in: "done", from: "todo")
        #expect(try await fixture.items(of: "todo") == ["b"])
        #expect(try await fixture.items(of: "done") == ["c", "a", "x"])
    }

    @Test("remove removes the items that are there, and accepts missing items")
    func remove() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.client.place(["a", "b", "c"], .last, in: "list")
        try await fixture.client.remove(["b", "nowhere"], from: "list")
        try await fixture.client.remove(["nowhere"], from: "list")
        #expect(try await fixture.items(of: "list") == ["a", "c"])
    }

    @Test("Rows of a user's table are placed, moved to another list, and removed without losing the row")
    func attachedTable() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.attachCards([(1, 7), (2, 7), (3, 8)])
        let (seven, eight) = (ListIdentifier("7", of: "public.cards"), ListIdentifier("8", of: "public.cards"))
        try await fixture.client.place(["2", "1"], .last, in: seven)
        try await fixture.client.place(["3"], .last, in: eight)
        try await fixture.client.place(["1"], .first, in: eight, from: "7")
        #expect(try await fixture.client.page(of: seven).items == ["2"])
        #expect(try await fixture.client.page(of: eight).items == ["1", "3"])
        try await fixture.client.remove(["3"], from: eight)
        #expect(try await fixture.client.page(of: eight).items == ["1"])
        #expect(try await fixture.connection.query("SELECT FROM cards").count == 3)
    }

    @Test("A mover moves items with the library, and the log has them as direct moves")
    func mover() async throws {
        let fixture = try await LibraryFixture()
        try await TestRole.with("library_mover", owner: fixture.connection) { role in
            let missing = try await AccessGrants.grant(.mover, to: [role.name], on: fixture.connection)
            #expect(missing.isEmpty)
            let client = try await BrocotClient.connect(role.url, logger: .silent)
            try await client.place(["a", "b"], .last, in: "list")
            try await client.place(["{c}"], .before("b"), in: "list")
            try await client.place(["b"], .first, in: "other", from: "list")
            try await client.remove(["a"], from: "list")
            await client.close()
        }
        #expect(try await fixture.items(of: "list") == ["{c}"])
        #expect(try await fixture.items(of: "other") == ["b"])
        let logged: [String] = try await fixture.connection.query(
            "SELECT placement FROM brocot.move_log WHERE direct AND outcome = 'applied' ORDER BY id"
        ).map { try $0.decode(0) }
        #expect(logged == ["last", "before", "first", "remove"])
        await fixture.client.close()
    }

    @Test("A rejection has a code, changes nothing, and lets the transaction continue")
    func rejection() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.refuseItem("poison")
        let codes = try await fixture.client.transaction { transaction in
            try transaction.lock(["list", "other"])
            try transaction.place(["a", "b"], .last, in: "list")
            var codes: [Rejection.Code] = []
            for (items, placement, source) in [
                (["a"], .before("a"), nil), (["a"], .after("z"), nil), (["z"], .last, "other"),
                (["c", "poison"], .first, nil),
            ] as [([String], Placement, String?)] {
                do {
                    try transaction.place(items, placement, in: "list", from: source)
                } catch let rejection as Rejection {
                    codes.append(rejection.code)
                }
            }
            try transaction.place(["c"], .last, in: "list")
            return codes
        }
        #expect(codes == [.anchorIsMoved, .anchorNotFound, .itemNotFound, .failed])
        #expect(try await fixture.items(of: "list") == ["a", "b", "c"])
    }

    @Test(
        "What a trigger raises is a rejection by the database, with its SQLSTATE and message",
        arguments: ["P0042", "42501", "55000", "0A000", "25006", "40001", "57014", "53400", "XX000"])
    func refusal(sqlState: String) async throws {
        let fixture = try await LibraryFixture()
        try await fixture.refuseItem("poison", sqlState: sqlState)
        let rejection = await #expect(throws: Rejection.self) {
            try await fixture.client.place(["poison"], .last, in: "list")
        }
        #expect(rejection?.sqlState == sqlState)
        #expect(rejection?.message == "no poison here")
    }

    @Test(
        "A table that is being attached is no rejection, however the server names Brocot's functions",
        arguments: ["search_path = public, brocot", "quote_all_identifiers = on"])
    func tableBeingAttached(setting: String) async throws {
        let fixture = try await LibraryFixture()
        try await fixture.attachCards()
        let database = quoteIdentifier(TestDatabase.current.name)
        try await fixture.connection.execute(
            script: """
                UPDATE brocot.ordered_tables SET being_filled = true WHERE name = 'public.cards';
                ALTER DATABASE \(database) SET \(setting)
                """)
        let client = try await BrocotClient.connect(TestDatabase.current.url, logger: .silent)
        let error = await #expect(throws: BrocotError.self) {
            try await client.place(["1"], .last, in: ListIdentifier(1, of: "public.cards"))
        }
        #expect(error?.sqlState == "55000")
        await client.close()
    }

    @Test("The library knows the functions of Brocot that run with the caller's search_path") func namesOfFunctions()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        let rows = try await connection.query(
            """
            SELECT DISTINCT function.proname::text FROM pg_proc AS function
            WHERE function.pronamespace = 'brocot'::regnamespace AND function.prolang = (SELECT oid FROM pg_language WHERE lanname = 'plpgsql')
                AND NOT EXISTS (SELECT FROM unnest(function.proconfig) AS setting WHERE setting LIKE 'search_path=%')
            """)
        let names = Set(try rows.map { Substring(try $0.decode(0, as: String.self)) })
        // The functions that no call of the library for moves at once reaches.
        let others: Set<Substring> = [
            "apply_pending", "decide", "enqueue", "enqueue_call", "wait_for", "wake_sleeping_daemons",
            "keys_are_1_to_1024_bytes", "keys_are_distinct", "place_single", "single_placement", "single_row",
            "take_single",
            "item_at",
        ]
        #expect(names == MoveFailure.namesWithoutSchema.union(others))
    }

    @Test("An unknown table and an invalid key are rejected, for moves, offsets and pages")
    func unusableLists() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.attachCards()
        for (list, code) in [
            (ListIdentifier("1", of: "public.nowhere"), Rejection.Code.unknownOrderedTable),
            (ListIdentifier("01", of: "public.cards"), .invalidKey),
        ] {
            #expect(await rejectionCode { try await fixture.client.place(["1"], .last, in: list) } == code)
            #expect(await rejectionCode { _ = try await fixture.client.page(of: list) } == code)
            #expect(
                await rejectionCode { try await fixture.client.move(fromOffsets: [0], toOffset: 1, in: list) } == code)
        }
    }

    private static let invalidArguments: [([String], Placement, String, String?)] = [
        ([], .last, "list", nil), (["a", "a"], .last, "list", nil), ([""], .last, "list", nil),
        (["a"], .at(-1), "list", nil), (["a"], .before(""), "list", nil), (["a"], .last, "list", "list"),
        ([String(repeating: "a", count: 1025)], .last, "list", nil), (["a\u{0}"], .last, "list", nil),
        (["a"], .last, String(repeating: "l", count: 1025), nil),
        ((0...10_000).map(String.init), .last, "list", nil),
    ]

    @Test("Invalid arguments are refused before the data is read") func invalidArguments() async throws {
        let client = try await LibraryFixture().client
        for (number, (items, placement, list, source)) in Self.invalidArguments.enumerated() {
            let direct = await failureCode {
                try await client.place(items, placement, in: ListIdentifier(list), from: source)
            }
            #expect(direct == .invalidArgument, "case \(number): \(items.prefix(3)), \(placement)")
            let queued = await failureCode {
                _ = try await client.enqueuePlace(items, placement, in: ListIdentifier(list), from: source)
            }
            #expect(queued == .invalidArgument, "case \(number): \(items.prefix(3)), \(placement)")
        }
    }

    @Test("A direct call of the library that does not change the order writes no row")
    func noWrite() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.client.place(["a", "b", "c"], .last, in: "list")
        func versions() async throws -> [String] {
            try await fixture.connection.query("SELECT xmin::text FROM brocot.items ORDER BY rank").map {
                try $0.decode(0)
            }
        }
        let before = try await versions()
        try await fixture.client.place(["b"], .after("a"), in: "list")
        try await fixture.client.place(["b", "c"], .last, in: "list")
        try await fixture.client.move(fromOffsets: [1], toOffset: 2, in: "list")
        #expect(try await versions() == before)
    }

    @Test("Lists whose names differ only in Unicode normalization are different lists")
    func canonicallyEquivalentLists() async throws {
        let fixture = try await LibraryFixture()
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        try await fixture.client.transaction { transaction in
            try transaction.lock([ListIdentifier(composed), ListIdentifier(decomposed)])
            try transaction.place(["a"], .last, in: ListIdentifier(composed))
            try transaction.place(["a"], .last, in: ListIdentifier(decomposed), from: composed)
        }
        #expect(try await fixture.items(of: composed) == [])
        #expect(try await fixture.items(of: decomposed) == ["a"])
    }

    @Test("Tables whose names differ only in Unicode normalization are different tables")
    func canonicallyEquivalentTables() async throws {
        let fixture = try await LibraryFixture()
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        for (name, item) in [(composed, "1"), (decomposed, "2")] {
            try await fixture.connection.execute(
                script: """
                    CREATE TABLE "\(name)" (
                        id bigint PRIMARY KEY, list text COLLATE "C", rank_num bigint, rank_den bigint,
                        rank numeric,
                        UNIQUE (list, rank) DEFERRABLE INITIALLY IMMEDIATE);
                    INSERT INTO brocot.ordered_tables VALUES ('\(name)', 'public', '\(name)', '{list}', 'id', false);
                    INSERT INTO "\(name)" (id, list) VALUES (\(item), '\(composed)');
                    """)
        }
        try await LibraryFixture.withDaemon {
            let requests = try await fixture.client.transaction { transaction in
                try [(composed, "1"), (decomposed, "2")].map { table, item in
                    try transaction.enqueuePlace(
                        [item], .last, in: ListIdentifier(decomposed, of: table), from: composed)
                }
            }
            for request in requests {
                #expect(try await fixture.client.outcome(of: request) == .applied(rebalancedRows: 0))
            }
        }
        for (name, item) in [(composed, "1"), (decomposed, "2")] {
            #expect(try await fixture.client.page(of: ListIdentifier(decomposed, of: name)).items == [item])
        }
    }

    @Test("Items whose keys differ only in Unicode normalization are different items")
    func canonicallyEquivalentItems() async throws {
        let fixture = try await LibraryFixture()
        let keys = ["\u{E9}", "e\u{301}", "\u{212B}", "A\u{30A}", "\u{C5}"]
        func bytes(of list: String) async throws -> [[UInt8]] {
            try await fixture.items(of: list).map { Array($0.utf8) }
        }
        try await fixture.client.place(keys, .last, in: "direct")
        try await fixture.client.place([keys[1]], .before(keys[0]), in: "direct")
        try await LibraryFixture.withDaemon {
            let requests = try await fixture.client.transaction { transaction in
                let requests = try keys.map { try transaction.enqueuePlace([$0], .last, in: "queued") }
                return requests + [try transaction.enqueuePlace([keys[1]], .before(keys[0]), in: "queued")]
            }
            for request in requests {
                #expect(try await fixture.client.outcome(of: request) == .applied(rebalancedRows: 0))
            }
        }
        let expected = [keys[1], keys[0], keys[2], keys[3], keys[4]].map { Array($0.utf8) }
        #expect(try await bytes(of: "direct") == expected)
        #expect(try await bytes(of: "queued") == expected)
    }
}
