import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Rows that the registry lacks", .database, .usualTimeLimit) struct RegistryFaultTests {
    @Test("brocot doctor fails if the registry has no row of the built-in table, and its advice restores that row")
    func builtInTable() async throws {
        let connection = try await TestDatabase.current.connect()
        func row() async throws -> String? {
            try await connection.query(
                "SELECT to_jsonb(known)::text FROM brocot.ordered_tables AS known WHERE name = 'items'"
            )
            .first?.decode(0)
        }
        let migrated = try #require(try await row())
        try await connection.execute("DELETE FROM brocot.ordered_tables")
        for kind in RoleKind.allCases {
            #expect(try await examination(role: kind).first { $0.check == "tables" }?.level == .fail)
        }
        let result = try #require(try await examination().first { $0.check == "tables" })
        #expect(result.message.contains("no row of the built-in table items"))
        try await connection.execute(script: try #require(result.advice?.split(separator: ": ").last.map(String.init)))
        #expect(try await row() == migrated)
        #expect(try await examination().allSatisfy { $0.failureKind == nil })
        try await connection.execute("SELECT brocot.move_now('l', 'a', last => true)")
    }

    @Test("brocot doctor fails if a table has Brocot's triggers, but its order is not registered, and its advice works")
    func unregisteredOrder() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach()
        try await fixture.connection.execute("DELETE FROM brocot.ordered_tables WHERE name = 'public.tasks'")
        let result = try #require(try await orders())
        #expect(result.level == .fail)
        #expect(result.message.hasPrefix("public.tasks has Brocot's triggers, but their order is not registered"))
        try await fixture.attach()
        #expect(try await orders()?.level == .ok)

        try await fixture.connection.execute("DELETE FROM brocot.ordered_tables WHERE name = 'public.tasks'")
        let drops = try #require(result.advice?.split(separator: "drop what is left: ").last.map(String.init))
        try await fixture.connection.execute(script: drops)
        #expect(try await orders()?.level == .ok)
        #expect(try await fixture.texts("SELECT tgname FROM pg_trigger WHERE tgrelid = 'tasks'::regclass") == [])
    }

    @Test("The index of an order that is not registered is reported, also without triggers, and its advice works")
    func indexAlone() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach()
        try await fixture.connection.execute(
            script: """
                DO $$ DECLARE name text; BEGIN
                    FOR name IN SELECT tgname FROM pg_trigger WHERE tgrelid = 'tasks'::regclass LOOP
                        EXECUTE format('DROP TRIGGER %I ON tasks', name);
                    END LOOP;
                END $$;
                DELETE FROM brocot.ordered_tables WHERE name = 'public.tasks'
                """)
        let result = try #require(try await orders())
        #expect(result.level == .fail && result.message.hasPrefix("public.tasks has Brocot's index"))
        let drop = try #require(result.advice?.split(separator: "drop what is left: ").last.map(String.init))
        #expect(drop == "DROP INDEX \"public\".\"brocot_tasks_rank\";")
        try await fixture.connection.execute(script: drop)
        #expect(try await orders()?.level == .ok)
    }

    @Test("One unregistered order of a table is reported, and its registered orders are not")
    func oneOfSeveralOrders() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        let long = String(repeating: "r", count: 59)
        for rank in ["rank", "place", long] { try await fixture.attach(AttachFixture.definition(rank: rank)) }
        #expect(try await orders()?.level == .ok)
        try await fixture.connection.execute("DELETE FROM brocot.ordered_tables WHERE name = 'public.tasks.place'")
        let result = try #require(try await orders())
        #expect(
            result.level == .fail && result.advice?.contains("_rank_") == false
                && result.advice?.contains("rrr") == false)
        let triggers = result.advice?.matches(of: /DROP TRIGGER "zzz_brocot_place_(\w+)"/).map { String($0.1) }
        #expect(triggers == ["arrive", "draw", "keep", "leave", "request"])
    }

    @Test(
        "Renamed tables, copies and partitions have triggers of a registered order, and are not reported a second time")
    func otherFaults() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE parts (id bigint, project_id bigint, PRIMARY KEY (id, project_id)) PARTITION BY LIST (project_id);
            CREATE TABLE parts_of_1 PARTITION OF parts FOR VALUES IN (1);
            \(AttachFixture.tasks)
            """)
        try await fixture.attach()
        try await fixture.attach(AttachFixture.definition(table: "parts"))
        #expect(try await orders()?.level == .ok)
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME TO old_tasks")
        #expect(try await orders()?.level == .ok)
        #expect(try await examination().filter { $0.level == .fail }.map(\.message) == ["public.tasks is gone"])
        try await fixture.connection.execute(script: AttachFixture.tasks.replacing("tasks", with: "new_tasks"))
        try await fixture.connection.execute(
            script: "ALTER INDEX brocot_tasks_rank RENAME TO former_rank; ALTER TABLE new_tasks RENAME TO tasks")
        try await fixture.attach()
        let copied = try #require(try await orders())
        #expect(
            copied.message == "public.tasks: public.old_tasks has the triggers of this order too", "\(copied.message)")
    }

    private func orders() async throws -> CheckResult? {
        try await examination().first { $0.check == "orders" }
    }
}
