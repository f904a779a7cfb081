import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Conditions of the triggers of an attached table", .database, .usualTimeLimit)
struct TriggerConditionTests {
    /// Two lists, in which the ranks are equal.
    private static let tasks = """
        CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint);
        INSERT INTO tasks SELECT n, n % 2 FROM generate_series(1, 6) AS n;
        """

    private func attached(_ definition: OrderDefinition = AttachFixture.definition()) async throws -> AttachFixture {
        let fixture = try await AttachFixture(Self.tasks)
        try await fixture.attach(definition)
        return fixture
    }

    /// The list, rank and denominator of a row.
    private func row(_ id: Int, _ fixture: AttachFixture) async throws -> [String] {
        try await fixture.texts("SELECT concat_ws('/', project_id, rank, rank_den) FROM tasks WHERE id = \(id)")
    }

    @Test("The conditions that an UPDATE of other columns meets are short, and read no settings")
    func conditionsForOtherColumns() async throws {
        let fixture = try await attached()
        let conditions = """
            FROM pg_trigger WHERE tgrelid = 'tasks'::regclass AND tgattr::text = '' AND tgtype & 16 <> 0
            """
        #expect(try await fixture.texts("SELECT count(*) \(conditions)") == ["2"])
        #expect(try await fixture.texts("SELECT sum(length(tgqual::text)) < 2500 \(conditions)") == ["t"])
        #expect(
            try await fixture.texts(
                "SELECT count(*) \(conditions) AND pg_get_triggerdef(oid) LIKE '%current_setting%'") == ["0"])
    }

    @Test("Brocot's own change of list keeps the rank that it writes, also if the rank is the former one")
    func ownChangeOfList() async throws {
        let fixture = try await attached()
        let rank = try await fixture.texts("SELECT concat_ws('/', rank, rank_den) FROM tasks WHERE id = 1")[0]
        try await fixture.connection.execute(
            script: """
                BEGIN;
                SELECT set_config('brocot.writing', 'public.tasks', true);
                UPDATE tasks SET project_id = 7 WHERE id = 1;
                COMMIT;
                """)
        #expect(try await row(1, fixture) == ["7/\(rank)"])
        #expect(try await fixture.requests() == [])
    }

    @Test("A stale row that an ORM saves into another list loses its rank, and a request asks for its new place")
    func staleRowInAnotherList() async throws {
        let fixture = try await attached()
        try await fixture.connection.execute(
            script: "UPDATE tasks SET project_id = 0, rank = 7.5, rank_num = 15, rank_den = 2 WHERE id = 1")
        #expect(try await row(1, fixture) == ["0"])
        #expect(try await fixture.requests() == ["public.tasks 0 {1} arrive"])
    }

    @Test("A row that changes its list without having a rank causes a request") func unplacedRow() async throws {
        let fixture = try await attached()
        try await fixture.connection.execute(
            script: """
                INSERT INTO tasks VALUES (7, NULL);
                UPDATE tasks SET project_id = 1 WHERE id = 7;
                """)
        #expect(try await row(7, fixture) == ["1"])
        #expect(try await fixture.requests() == ["public.tasks 1 {7} arrive"])
    }

    @Test(
        "A row that changes its list loses its rank whatever a trigger of the user assigns to the rank columns",
        arguments: ["NEW.rank := NULL;", "NEW.rank := 0; NEW.rank_num := 0; NEW.rank_den := 1;", "NEW.rank := 12;"])
    func triggerOfTheUser(assignment: String) async throws {
        let fixture = try await attached()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION assign() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN IF OLD.project_id IS DISTINCT FROM NEW.project_id THEN \(assignment) END IF; RETURN NEW; END $$;
                CREATE TRIGGER assign BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION assign();
                UPDATE tasks SET project_id = 0 WHERE id = 1;
                """)
        #expect(try await row(1, fixture) == ["0"])
        #expect(try await fixture.requests() == ["public.tasks 0 {1} arrive"])
    }
}
