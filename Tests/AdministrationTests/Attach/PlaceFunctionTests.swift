import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("The functions for moves at once of an attached table", .database, .usualTimeLimit)
struct PlaceFunctionTests {
    private func move(_ fixture: AttachFixture) async throws {
        try await fixture.connection.execute(
            "SELECT brocot.move_now(1, (SELECT max(id::text) FROM tasks WHERE project_id = 1), first => true, ordered_table => 'public.tasks')"
        )
    }

    @Test(
        "A second brocot attach adapts the functions to a changed type of the item column",
        arguments: [("varchar", "uuid"), ("varchar", "integer"), ("integer", "bigint"), ("integer", "text")])
    func changedType(before: String, after: String) async throws {
        let value = after == "uuid" ? "md5(n::text)::uuid" : "n"
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id \(before) PRIMARY KEY, project_id int);
            INSERT INTO tasks SELECT (\(value))::\(before), 1 FROM generate_series(1, 3) AS n;
            """)
        try await fixture.attach()
        try await move(fixture)
        try await fixture.connection.execute(script: "ALTER TABLE tasks ALTER id TYPE \(after) USING id::\(after)")
        try await fixture.attach()
        try await move(fixture)
        #expect(
            try await fixture.texts(
                "SELECT id = (SELECT max(id::text) FROM tasks)::\(after) FROM tasks ORDER BY rank LIMIT 1") == ["t"])
    }

    @Test("A second brocot attach drops the functions if the table got more than 100 partitions")
    func manyPartitions() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id int, project_id int, PRIMARY KEY (id, project_id)) PARTITION BY LIST (project_id);
            CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1); INSERT INTO tasks VALUES (1, 1), (2, 1);
            """)
        try await fixture.attach()
        let hasFunctions = "SELECT place_function IS NOT NULL FROM brocot.ordered_tables WHERE name = 'public.tasks'"
        #expect(try await fixture.texts(hasFunctions) == ["t"])
        try await fixture.connection.execute(
            script: """
                DO $$ BEGIN FOR n IN 2..101 LOOP
                    EXECUTE format('CREATE TABLE tasks_%1$s PARTITION OF tasks FOR VALUES IN (%1$s)', n);
                END LOOP; END $$;
                """)
        try await fixture.attach()
        #expect(try await fixture.texts(hasFunctions) == ["f"])
        try await move(fixture)
        #expect(try await fixture.texts("SELECT id FROM tasks ORDER BY rank") == ["2", "1"])
        #expect(try await fixture.attach() == 0)
    }

    @Test("A session with standard_conforming_strings = off attaches a table with UUIDs")
    func oldStrings() async throws {
        let fixture = try await AttachFixture(
            "CREATE TABLE tasks (id uuid PRIMARY KEY, project_id int); INSERT INTO tasks SELECT md5(n::text)::uuid, 1 FROM generate_series(1, 3) AS n"
        )
        try await fixture.connection.execute(script: "SET standard_conforming_strings = off")
        try await fixture.attach()
        try await move(fixture)
    }

    @Test(
        "Functions keep their names when they are made again, since waiting calls know these, and brocot detach drops them",
        .databaseWithAttachedTasks,
        arguments: [false, true])
    func formerNames(isMadeAgain: Bool) async throws {
        let fixture = try await AttachFixture()
        let former = "_0123456789abcdef"
        try await fixture.connection.execute(
            script: """
                DO $$
                DECLARE
                    name text := (SELECT place_function FROM brocot.ordered_tables WHERE name = 'public.tasks');
                    family text;
                BEGIN
                    FOREACH family IN ARRAY '{place_single,single_placement,single_row,take_single,item_at}'::text[] LOOP
                        EXECUTE format('ALTER FUNCTION %s RENAME TO %s\(former)', replace(name, 'place_single', family), family);
                    END LOOP;
                END $$;
                UPDATE brocot.ordered_tables SET place_function = 'brocot.place_single\(former)' WHERE name = 'public.tasks';
                """)
        if isMadeAgain {
            try await fixture.connection.execute("SELECT brocot.make_place_functions('public.tasks')")
            try await move(fixture)
        }
        let names = #"""
            SELECT proname::text FROM pg_proc WHERE proname ~ '^(place_single|single_placement|single_row|take_single|item_at)_' ORDER BY 1
            """#
        let all = ["item_at", "place_single", "single_placement", "single_row", "take_single"]
        #expect(try await fixture.texts(names) == all.map { $0 + former })
        try await fixture.detach()
        #expect(try await fixture.texts(names) == [])
    }

    @Test(
        "brocot check --repair makes dropped functions again", .databaseWithAttachedTasks,
        arguments: ["place_single", "take_single", "item_at", "single_row", "single_placement", nil])
    func dropped(function: String?) async throws {
        let fixture = try await AttachFixture()
        if let function {
            try await fixture.connection.execute(
                script: """
                    DO $$ BEGIN
                        EXECUTE (SELECT format('DROP FUNCTION %s', oid::regprocedure) FROM pg_proc WHERE proname ~ '^\(function)_');
                    END $$
                    """)
        } else {
            try await fixture.connection.execute("SELECT brocot.drop_place_functions('public.tasks')")
        }
        let found = try await fixture.findings()
        #expect(found.lines() == ["missing: functions for moves at once"])
        try await fixture.repair(found)
        #expect(try await fixture.findings().areRight)
        try await move(fixture)
    }
}
