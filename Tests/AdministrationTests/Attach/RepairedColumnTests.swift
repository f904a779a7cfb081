import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Repair of dropped rank columns", .database, .usualTimeLimit) struct RepairedColumnTests {
    @Test("brocot check --repair restores dropped rank columns beside a constraint of another form")
    func droppedColumnsBesideOtherConstraint() async throws {
        let fixture = try await AttachFixture.withRows()
        for columns in [["rank_den"], ["rank", "rank_num", "rank_den"]] {
            let drops = columns.map { "DROP COLUMN \($0) CASCADE" }.joined(separator: ", ")
            _ = try await fixture.repair(
                """
                ALTER TABLE tasks \(drops);
                ALTER TABLE tasks ADD CONSTRAINT brocot_rank_is_valid CHECK (true)
                """)
            #expect(try await fixture.order() == (columns.count == 1 ? ["1", "2", "3", "4", "5"] : []), "\(columns)")
        }
    }

    @Test(
        "brocot check --repair restores dropped rank columns with the order as it was, and no UPDATE fails meanwhile")
    func droppedColumns() async throws {
        let fixture = try await AttachFixture.withRows()
        for columns in [["rank"], ["rank_num"], ["rank_den"], ["rank_num", "rank_den"]] {
            let drops = columns.map { "DROP COLUMN \($0) CASCADE" }.joined(separator: ", ")
            let found = try await fixture.repair(
                """
                SELECT brocot.move_now(1, 5, first => true, ordered_table => 'public.tasks'),
                    brocot.move_now(1, 4, before => 1, ordered_table => 'public.tasks');
                ALTER TABLE tasks \(drops);
                """)
            #expect(
                found.last?.hasPrefix("the ranks of all rows are wrong: a repair calculates them") == true, "\(columns)"
            )
            try await fixture.connection.execute("UPDATE tasks SET project_id = project_id")
            try await fixture.connection.execute("SELECT brocot.apply_pending()")
            #expect(try await fixture.order() == ["5", "4", "1", "2", "3"], "\(columns)")
            try await fixture.restoreRows()
        }
    }

    @Test(
        "After an interrupted repair, a second one and the same brocot attach let requests pass again, in the right order"
    )
    func interrupted() async throws {
        let fixture = try await AttachFixture.withRows()
        try await fixture.connection.execute(
            script: """
                SELECT brocot.move_now(1, 5, first => true, ordered_table => 'public.tasks');
                ALTER TABLE tasks DROP COLUMN rank CASCADE;
                SELECT brocot.drop_place_functions('public.tasks');
                UPDATE brocot.ordered_tables SET being_filled = true WHERE name = 'public.tasks';
                SELECT brocot.move(1, 4, first => true, ordered_table => 'public.tasks');
                """)
        let found = try await fixture.repair("ALTER TABLE tasks ADD COLUMN rank numeric").joined(separator: "\n")
        #expect(
            found.hasPrefix(
                """
                brocot attach or check --repair is not finished, so requests wait. If brocot check reports missing columns or wrong ranks, run \
                brocot check --repair first. Then run the same brocot attach again: the rows keep the ranks that they have.
                """) && !found.contains("detach"), "\(found)")
        try await fixture.connection.execute("SELECT brocot.apply_pending()")
        #expect(try await fixture.order() == ["5", "1", "2", "3", "4"])
        try await fixture.attach()
        try await fixture.connection.execute("SELECT brocot.apply_pending()")
        #expect(try await fixture.order() == ["4", "5", "1", "2", "3"])
    }

    @Test("A repair that does not restore all ranks says that moves wait, and how to go on")
    func failed() async throws {
        let fixture = try await AttachFixture.withRows()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'this row stays'; END $$;
                CREATE TRIGGER refuse BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION refuse();
                """)
        let error = await #expect(throws: AttachError.self) {
            _ = try await fixture.repair("ALTER TABLE tasks DROP COLUMN rank CASCADE")
        }
        let message = try #require(error).description
        #expect(message.hasPrefix("this row stays"), "\(message)")
        #expect(
            message.hasSuffix(
                """
                Moves of public.tasks wait, because the repair has not ended. Run brocot check --repair again, and then brocot attach with \
                the same options as before.
                """), "\(message)")
        try await fixture.connection.execute("DROP TRIGGER refuse ON tasks")
        try await fixture.repairAsRegistered()
        try await fixture.attach()
        try await fixture.connection.execute(
            "SELECT brocot.move_now(1, 5, first => true, ordered_table => 'public.tasks')")
        #expect(try await fixture.order() == ["5", "1", "2", "3", "4"])
    }

    @Test("A repair waits for moves that began before the column was dropped, and these fail")
    func olderMoves() async throws {
        let fixture = try await AttachFixture.withRows()
        let holder = try await TestDatabase.current.connect()
        let caller = try await TestDatabase.current.connect()
        try await holder.execute(
            script: "BEGIN; SELECT brocot.lock_lists(ARRAY[1], ordered_table => 'public.tasks')")
        let moved = Task {
            try await caller.execute(
                "SELECT brocot.move_items_now(1, ARRAY[5]::bigint[], at => 2, ordered_table => 'public.tasks')")
        }
        try await TestDatabase.current.waitUntilBlocked(caller, by: holder)
        try await fixture.connection.execute(script: "ALTER TABLE tasks DROP COLUMN rank CASCADE")
        async let repaired = fixture.repairAsRegistered()
        try await eventually("moves are refused") {
            try await !holder.query("SELECT FROM brocot.ordered_tables WHERE name = 'public.tasks' AND being_filled")
                .isEmpty
        }
        try await holder.execute(script: "COMMIT")
        let error = await #expect(throws: PostgresError.self) { try await moved.value(until: "the move ended") }
        // Without the column, this name means an aggregate function of the server.
        #expect(error?.sqlState?.rawValue == "42809", "\(String(describing: error))")
        _ = try await repaired
        #expect(try await fixture.order() == ["1", "2", "3", "4", "5"])
    }

    @Test(
        "Moves wait while brocot check --repair restores dropped rank columns",
        arguments: ["rank", "rank_num", "rank_den"])
    func movesWait(column: String) async throws {
        let fixture = try await AttachFixture.withRows()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF (SELECT being_filled FROM brocot.ordered_tables WHERE name = 'public.tasks') THEN RETURN NEW; END IF;
                    RAISE EXCEPTION 'a move could be applied now';
                END $$;
                CREATE TRIGGER refuse BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION refuse();
                """)
        _ = try await fixture.repair("ALTER TABLE tasks DROP COLUMN \(column) CASCADE")
        try await fixture.connection.execute(
            script: """
                DROP TRIGGER refuse ON tasks;
                SELECT brocot.move_now(1, 5, first => true, ordered_table => 'public.tasks')
                """)
        #expect(try await fixture.order() == ["5", "1", "2", "3", "4"])
    }
}
