import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("The order of the log beside triggers that move", .database, .usualTimeLimit)
struct LogOrderTests {
    @Test("A move of a trigger stands between the requests that apply_pending decided before and after it")
    func moveOfTrigger() async throws {
        let caller = try await SQLCaller()
        try await caller.createTasks(lists: ["1"], items: ["1", "2", "3", "4"])
        try await caller.connection.execute(
            script: """
                SELECT brocot.move_items_now(1, ARRAY[1, 2, 3, 4], last => true, ordered_table => 'public.tasks');
                DELETE FROM brocot.move_log;
                CREATE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    PERFORM brocot.move_now(1, 4, first => true, ordered_table => 'public.tasks');
                    RETURN NULL;
                END $$;
                CREATE TRIGGER follow AFTER UPDATE ON tasks FOR EACH ROW
                    WHEN (new.id = 3 AND new.rank IS DISTINCT FROM old.rank) EXECUTE FUNCTION follow();
                SELECT brocot.move(1, 3, first => true, ordered_table => 'public.tasks'),
                    brocot.move(1, 2, first => true, ordered_table => 'public.tasks')
                """)
        #expect(try await caller.applyPending() == 2)
        let logged = try await caller.connection.query("SELECT items[1] FROM brocot.move_log ORDER BY applied_at, id")
        #expect(try logged.map { try $0.decode(0, as: String.self) } == ["3", "4", "2"])
        let lists = try await caller.lists(of: "tasks", list: "board", item: "id")
        #expect(lists == ["1": ["2", "4", "3", "1"]])
    }
}
