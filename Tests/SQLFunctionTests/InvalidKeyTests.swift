import LibPQ
import Ordering
import OrderingModel
import TestLimit
import TestPostgres
import Testing

@Suite("Keys that are no values of their columns, in each way to move", .database, .usualTimeLimit)
struct InvalidKeyTests {
    private static let tables = """
        CREATE TYPE mood AS ENUM ('good', 'bad'); CREATE SCHEMA other; CREATE TYPE other.mood AS ENUM ('no');
        CREATE DOMAIN positive AS int CHECK (VALUE > 0); CREATE DOMAIN rating AS positive;
        CREATE DOMAIN code AS varchar(3); CREATE DOMAIN label AS code;
        CREATE TABLE "To Do" (
            "L" varchar(3), m mood, i int, rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY ("L", m, i));
        CREATE TABLE labels (l label, i smallint, rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY (l, i));
        CREATE TABLE days (i date PRIMARY KEY, rank_num bigint, rank_den bigint, rank numeric);
        CREATE TABLE ids (l uuid, i boolean, rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY (l, i));
        CREATE TABLE marks (l int, i rating, rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY (l, i));
        CREATE TABLE levels (l positive, i bigint, rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY (l, i));
        INSERT INTO marks VALUES (1, 1, 1, 1, 1), (1, 2, 2, 1, 2);
        INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows) VALUES
            ('public.To Do', 'public', 'To Do', '{L,m}', 'i', true), ('public.labels', 'public', 'labels', '{l}', 'i', true),
            ('public.days', 'public', 'days', '{}', 'i', true), ('public.ids', 'public', 'ids', '{l}', 'i', true),
            ('public.marks', 'public', 'marks', '{l}', 'i', false), ('public.levels', 'public', 'levels', '{l}', 'i', true);
        SELECT brocot.make_place_functions(name) FROM brocot.ordered_tables WHERE name <> 'items';
        """

    /// What one of the ways makes of a move: the code, the SQLSTATE of a failure, and the message.
    private struct Outcome: Equatable {
        var code: String?
        var state: String?
        var message: String?
    }

    private func lastOutcome(_ caller: SQLCaller) async throws -> Outcome {
        let row = try await caller.connection.query(
            "SELECT error_code, sqlstate, error FROM brocot.move_log ORDER BY applied_at DESC, id DESC LIMIT 1"
        ).single()
        return Outcome(code: try row.decode(0), state: try row.decode(1), message: try row.decode(2))
    }

    private func direct(_ move: Move, _ caller: SQLCaller) async -> Outcome {
        let refusal = await caller.connection.refusal(of: SQLCaller.call(move, suffix: "_now"))
        guard let error = refusal else { return Outcome() }
        let code = SQLCaller.code(of: error)
        return Outcome(
            code: code?.rawValue ?? "failed", state: code == nil ? error.sqlState?.rawValue : nil,
            message: error.message)
    }

    /// What the daemon, `brocot.apply_pending` and `brocot.move_now` or its kin make of a move. Only the first changes anything in the end.
    private func outcomes(_ move: Move, setting: String, _ caller: SQLCaller) async throws -> [Outcome] {
        try await caller.connection.execute(script: "BEGIN; SET LOCAL \(setting)")
        try await caller.enqueue(move)
        try await caller.connection.execute("SELECT brocot.apply_pending()")
        let decided = try await lastOutcome(caller)
        try await caller.connection.execute(script: "ROLLBACK; BEGIN; SET LOCAL \(setting)")
        let atOnce = await direct(move, caller)
        try await caller.connection.execute(script: "ROLLBACK")
        try await caller.enqueue(move)
        try await caller.drain()
        return [try await lastOutcome(caller), decided, atOnce]
    }

    private static func move(_ table: String, _ list: String, _ item: String, _ placement: Placement? = .last) -> Move {
        let list = ListIdentifier(orderedTable: "public.\(table)", key: list)
        return Move(list: list, items: [item], action: placement.map { .place($0, from: nil) } ?? .remove)
    }

    private static let invalid = [
        (move("To Do", "[\"abcd\", \"good\"]", "1"), "'abcd' is not a character varying(3) as"),
        (
            move("To Do", "[\"abc\", \"no\"]", "1"),
            "'no' is not a value of public.mood as PostgreSQL prints it, which column m of public.To Do needs"
        ),
        (move("To Do", "[\"abc\", \"good\"]", "01"), "'01' is not an integer as"),
        (
            move("To Do", "[]", "1"),
            "'[]' is no list of public.To Do, whose key is a JSON array of the 2 texts, as brocot.list_key gives it"
        ),
        (move("To Do", "{", "1"), "'{' is no list of public.To Do"),
        (move("To Do", "[\"a\", null]", "1"), "'[\"a\", null]' is no list of public.To Do"),
        (move("labels", "abcd", "1"), "'abcd' is not a character varying(3) as"),
        (move("labels", "abc", "1", .before("40000")), "'40000' is not a smallint as"),
        (
            move("days", "x", "2026-01-01"),
            "'x' is no list of public.days, whose key is empty: the whole table is one list"
        ),
        (move("days", "", "2026-1-1"), "'2026-1-1' is not a date as"),
        (move("ids", "1", "true"), "'1' is not a uuid as PostgreSQL prints it, which column l of public.ids needs"),
        (
            move("ids", "C0FFEE00-0000-0000-0000-000000000001", "true"),
            "of public.ids needs; cast it: 'C0FFEE00-0000-0000-0000-000000000001'::uuid"
        ),
        (
            move("ids", "{c0ffee00000000000000000000000001}", "true"),
            "of public.ids needs; cast it: '{c0ffee00000000000000000000000001}'::uuid"
        ),
        (move("ids", "c0ffee00-0000-0000-0000-00000000000g", "true"), "of public.ids needs"),
        (move("ids", "c0ffee00-0000-0000-0000-000000000001", "t"), "'t' is not a boolean as"),
        (move("marks", "1", "1.0", nil), "'1.0' is not an integer as"),
        // As many digits as the largest number of the type, or one more.
        (move("labels", "abc", "99999"), "'99999' is not a smallint as"),
        (move("marks", "1", "9999999999"), "'9999999999' is not an integer as"),
        (move("levels", "1", "9999999999999999999"), "'9999999999999999999' is not a bigint as"),
        (move("levels", "1", "99999999999999999999"), "'99999999999999999999' is not a bigint as"),
    ]

    @Test(
        "The message about an invalid key is the same in each way to move, whatever the settings",
        arguments: [
            "search_path = public", "search_path = other, public", "search_path = pg_temp",
            "quote_all_identifiers = on",
        ])
    func messages(setting: String) async throws {
        let caller = try await SQLCaller()
        try await caller.connection.execute(script: Self.tables)
        for (move, message) in Self.invalid {
            let found = try await outcomes(move, setting: setting, caller)
            #expect(found[0].code == "invalid_key", "\(move)")
            #expect(found[0].message?.contains(message) == true, "\(move): \(found[0])")
            #expect(found[0].message?.contains("cast it") == message.contains("cast it"), "\(move): \(found[0])")
            #expect(found.allSatisfy { $0 == found[0] }, "\(move): \(found)")
        }
    }

    /// Moves with a key that the CHECK of its domain refuses, and some without. The second value is the code of the rejection.
    private static let ofDomains: [(Move, String?)] = [
        (move("marks", "1", "0", .first), "item_not_found"), (move("marks", "1", "2", .after("0")), "anchor_not_found"),
        (move("marks", "1", "0", nil), nil), (move("marks", "1", "2", .first), nil),
        (move("levels", "0", "2", nil), nil), (move("levels", "0", "2", .first), "failed"),
        (move("levels", "1", "2", .first), nil),
    ]

    @Test("A key that the CHECK of a domain refuses is a key that no row has")
    func checksOfDomains() async throws {
        let caller = try await SQLCaller()
        try await caller.connection.execute(script: Self.tables)
        for (move, code) in Self.ofDomains {
            let found = try await outcomes(move, setting: "search_path = public", caller)
            #expect(found[0].code == code, "\(move): \(found[0])")
            #expect(found.allSatisfy { $0 == found[0] }, "\(move): \(found)")
        }
    }
}
