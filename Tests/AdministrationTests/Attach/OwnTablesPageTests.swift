import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Statements of docs/your-own-tables.md", .databaseWithAttachedTasks, .usualTimeLimit)
struct OwnTablesPageTests {
    private func statements(ofSection title: String) throws -> [String] {
        try Repository.statements(ofSection: title, in: "docs/your-own-tables.md")
    }

    @Test("Going back to a position column keeps the order, and rows without a place come last") func positions()
        async throws
    {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(
            script: """
                SELECT brocot.move_now(1, 4, first => true, ordered_table => 'public.tasks');
                INSERT INTO tasks (project_id, title) VALUES (1, 'new');
                """)
        let statement = try #require(statements(ofSection: "Detach").first { $0.contains("position bigint") })
        // The page says that the statement may be repeated until the new code is live.
        for _ in 1...2 { try await fixture.connection.execute(script: statement) }
        try await fixture.detach()
        #expect(
            try await fixture.texts(
                """
                SELECT string_agg(title || position, ',' ORDER BY position) FROM tasks
                WHERE project_id IS NOT NULL GROUP BY project_id ORDER BY project_id
                """) == [#""b1,c2,a3,new4""#, "x1"])
    }

    @Test("New rows whose trigger failed get their places by the documented statement, after its cause was removed")
    func retriedArrivals() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
                CREATE TRIGGER refuse BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION refuse();
                INSERT INTO tasks (project_id, title) VALUES (1, 'd'), (1, 'e'), (2, 'y');
                SELECT brocot.move(1, 4, first => true, ordered_table => 'public.tasks');
                SELECT brocot.apply_pending();
                DROP TRIGGER refuse ON tasks;
                """)
        #expect(
            try await fixture.texts("SELECT placement || error_code FROM brocot.move_log ORDER BY id")
                == ["arrivefailed", "arrivefailed", "firstfailed"])
        let statement = try statements(ofSection: "Your triggers while Brocot writes")[0]
        try await fixture.connection.execute(script: statement)
        #expect(try await fixture.requests() == ["public.tasks 1 {6,7} arrive", "public.tasks 2 {8} arrive"])
        try await fixture.connection.execute("SELECT brocot.apply_pending()")
        #expect(
            try await fixture.texts(
                """
                SELECT string_agg(title, '' ORDER BY rank) FROM tasks
                WHERE project_id IS NOT NULL GROUP BY project_id ORDER BY project_id
                """) == ["cabde", "xy"])
    }
}
