import LibPQ
import TestPostgres

/// A table with healthy boards, and with boards whose rows a trigger spoils.
enum Boards {
    /// The number of boards of each kind.
    static let number = 100
    static let moves = 60
    /// The longest time that 99 of 100 moves may take, also on a busy machine. Without a defence, they took half a
    /// minute.
    static let bound = Duration.seconds(5)

    /// Creates a table in which a trigger does this with the rows of bad boards, and requests a move in some bad
    /// boards.
    static func fill(_ trigger: String, bad: Int = number, on connection: Connection) async throws {
        try await connection.execute(
            script: """
                \(RegisteredTable.cards)
                INSERT INTO cards (board, card)
                SELECT board || n, card
                FROM unnest('{bad,good}'::text[]) AS board, generate_series(1, \(number)) AS n,
                    unnest('{a,b}'::text[]) AS card;
                CREATE FUNCTION misbehave() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN IF NEW.board LIKE 'bad%' THEN \(trigger); END IF; RETURN NEW; END $$;
                CREATE TRIGGER misbehave BEFORE UPDATE ON cards FOR EACH ROW EXECUTE FUNCTION misbehave();
                SELECT brocot.move('bad' || n, 'a', first => true, ordered_table => 'public.cards')
                FROM generate_series(1, \(bad)) AS n;
                """)
    }

    /// Moves one card of a good board every 20 ms, and waits until all moves are decided.
    static func moveGoodCards(on connection: Connection) async throws {
        for number in 1...moves {
            try await connection.execute(
                """
                SELECT brocot.move(
                    'good' || \(1 + number % 10), \(number % 2 == 0 ? "a" : "b"), first => true,
                    ordered_table => 'public.cards')
                """)
            try await Task.sleep(for: .milliseconds(20))
        }
        try await eventually(
            "the moves of good boards are decided", within: .seconds(120),
            read: {
                try await connection.query("SELECT list FROM brocot.move_requests WHERE list LIKE 'good%'")
                    .map { try $0.decode(0, as: String.self) }
            }, until: { $0.isEmpty })
    }

    /// The 99th percentile of the time from the request to the decision, for moves of good boards.
    static func slowestUsualMove(on connection: Connection) async throws -> Duration {
        let row = try await connection.query(
            """
            SELECT (percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM applied_at - requested_at)) * 1000)::bigint
            FROM brocot.move_log WHERE list LIKE 'good%' AND outcome = 'applied'
            """
        ).single()
        return .milliseconds(try row.decode(0, as: Int64.self))
    }
}
