import LibPQ
import Migrations
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite(
    "Databases whose default privileges let PUBLIC execute no function", .database(migrated: false),
    .usualTimeLimit)
struct DefaultPrivilegesTests {
    /// Tasks that are attached with --arrive-now.
    private func attached() async throws -> AttachFixture {
        let fixture = try await AttachFixture(
            "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC; \(AttachFixture.tasks)")
        _ = try await Migrator(connection: fixture.connection).up()
        try await fixture.attach(AttachFixture.definition(arriveNow: true), orderBy: "id")
        return fixture
    }

    @Test("A mover can move items at once, in brocot.items and in an attached table") func movers() async throws {
        let fixture = try await attached()
        try await LoginRole.with(.mover) { _, connection in
            for statement: SQL in [
                "SELECT brocot.move_now('l', 'a', first => true)",
                "SELECT brocot.move_items_now('l', '{b,c}', after => 'a')",
                "SELECT brocot.move_now(1, 4, first => true, ordered_table => 'public.tasks')",
                "SELECT brocot.move_items_now(1, ARRAY[1, 4], at => 1, ordered_table => 'public.tasks')",
                "SELECT brocot.move_now(2, 3, last => true, from_list => 1, ordered_table => 'public.tasks')",
                "SELECT brocot.remove_now('l', 'b')",
            ] {
                try await connection.execute(statement)
            }
        }
        #expect(try await fixture.texts("SELECT id FROM tasks WHERE project_id = 1 ORDER BY rank") == ["1", "4"])
        #expect(try await fixture.texts("SELECT item FROM brocot.items ORDER BY rank") == ["a", "c"])
    }

    @Test("An INSERT of a mover places its rows at once") func arrivals() async throws {
        let fixture = try await attached()
        try await LoginRole.with(.mover) { role, connection in
            try await fixture.connection.execute("GRANT INSERT ON tasks TO \(identifier: role.name)")
            try await connection.execute("INSERT INTO tasks (id, project_id) VALUES (9, 1), (8, 1)")
        }
        #expect(
            try await fixture.texts("SELECT id FROM tasks WHERE project_id = 1 ORDER BY rank")
                == ["1", "3", "4", "9", "8"])
        #expect(try await fixture.requests() == [])
    }

    @Test("A requester can ask for moves") func requesters() async throws {
        let fixture = try await attached()
        try await LoginRole.with(.requester) { _, connection in
            try await connection.execute("SELECT brocot.move(1, 4, first => true, ordered_table => 'public.tasks')")
        }
        #expect(try await fixture.requests() == ["public.tasks 1 {4} first"])
    }
}
