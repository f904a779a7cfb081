import LibPQ

/// A table whose lists all fail with an error of the server: its trigger reads a file that is missing. It raises nothing itself.
package enum FailingBoards {
    /// Creates the table with so many lists, each with one card, and a pending request of each.
    package static func fill(_ boards: Int, on connection: Connection) async throws {
        try await connection.execute(
            script: """
                \(RegisteredTable.cards)
                INSERT INTO cards (board, card) SELECT n::text, 'x' FROM generate_series(1, \(boards)) AS n;
                CREATE FUNCTION read_file() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM pg_read_file('/nowhere'); RETURN NEW; END $$;
                CREATE TRIGGER read_file BEFORE UPDATE ON cards FOR EACH ROW EXECUTE FUNCTION read_file();
                SELECT brocot.move(n::text, 'x', first => true, ordered_table => 'public.cards')
                FROM generate_series(1, \(boards)) AS n;
                """)
    }
}
