import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Administration
@testable import Ordering

@Suite("Triggers of an earlier version", .database, .usualTimeLimit) struct FormerTriggerTests {
    /// One name is so long that the names of its triggers were shortened in another way.
    static let rankColumns = ["rank", "position_within_the_sprint_of_the_team_board"]

    /// An attached table with the triggers of an earlier version.
    private func attached(_ definition: OrderDefinition) async throws -> AttachFixture {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint);
            INSERT INTO tasks SELECT n, n % 2 FROM generate_series(1, 6) AS n;
            """)
        try await fixture.attach(definition)
        let names = definition.names
        let former = ["arrive", "keep", "change"].map { OrderNames.bounded("zzz_brocot_\(names.rank)_\($0)") }
        let isOthers = """
            (current_setting('brocot.writing', true) IS DISTINCT FROM '\(names.orderedTable)'
            OR pg_trigger_depth()::text <> coalesce(nullif(current_setting('brocot.writing_depth', true), ''), '0'))
            """
        let changesList = "OLD.project_id IS DISTINCT FROM NEW.project_id"
        try await fixture.connection.execute(
            script: """
                \(names.triggers.map { "DROP TRIGGER IF EXISTS \($0) ON tasks;" }.joined(separator: "\n"))
                CREATE TRIGGER \(former[0]) AFTER INSERT ON tasks REFERENCING NEW TABLE AS arriving
                FOR EACH STATEMENT WHEN (\(isOthers)) EXECUTE FUNCTION brocot."\(names.arriveFunction)"();
                CREATE TRIGGER \(former[1]) BEFORE UPDATE ON tasks FOR EACH ROW
                WHEN ((\(changesList) OR OLD.\(names.rank) IS DISTINCT FROM NEW.\(names.rank)) AND \(isOthers))
                EXECUTE FUNCTION brocot."\(names.keepFunction)"();
                CREATE TRIGGER \(former[2]) BEFORE UPDATE ON tasks FOR EACH ROW
                WHEN (\(changesList) AND \(isOthers)) EXECUTE FUNCTION brocot."\(names.arriveFunction)"();
                """)
        return fixture
    }

    private func triggers(of table: String, _ fixture: AttachFixture) async throws -> Set<String> {
        Set(
            try await fixture.texts(
                "SELECT tgname FROM pg_trigger WHERE tgrelid = '\(table)'::regclass AND NOT tgisinternal"))
    }

    /// The triggers of a table with lists, without `--arrive-now`.
    private func present(_ names: OrderNames) -> Set<String> {
        [names.insertTrigger, names.keepTrigger, names.leaveTrigger, names.requestTrigger]
    }

    @Test("The functions of this version work with the triggers of an earlier version") func functions() async throws {
        let fixture = try await attached(AttachFixture.definition())
        try await fixture.connection.execute(
            script: "UPDATE tasks SET project_id = 0 WHERE id = 1; INSERT INTO tasks VALUES (7, 1)")
        #expect(try await fixture.texts("SELECT id FROM tasks WHERE rank IS NULL ORDER BY id") == ["1", "7"])
        #expect(try await fixture.requests() == ["public.tasks 0 {1} arrive", "public.tasks 1 {7} arrive"])
    }

    @Test("A second brocot attach replaces the triggers of an earlier version", arguments: rankColumns)
    func attachAgain(rank: String) async throws {
        let definition = AttachFixture.definition(rank: rank)
        let fixture = try await attached(definition)
        #expect(try await fixture.attacher.plan(definition).steps.map(\.purpose) == ["make the triggers"])
        try await fixture.attach(definition)
        #expect(try await triggers(of: "tasks", fixture) == present(definition.names))
        #expect(try await fixture.attach(definition) == 0)
    }

    @Test(
        "brocot attach of a renamed table replaces the triggers of an earlier version, and the former name can be detached",
        arguments: rankColumns)
    func attachAfterRename(rank: String) async throws {
        let former = AttachFixture.definition(rank: rank)
        let fixture = try await attached(former)
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME TO work")
        let renamed = AttachFixture.definition(table: "work", rank: rank)
        try await fixture.attach(renamed)
        #expect(try await triggers(of: "work", fixture) == present(renamed.names))
        try await fixture.connection.execute(
            script: "SELECT brocot.move_now(1, 1, last => true, ordered_table => '\(renamed.names.orderedTable)')")
        try await fixture.detach(former, droppingColumns: false)
        #expect(try await triggers(of: "work", fixture) == present(renamed.names))
        let orders = try await fixture.texts("SELECT name FROM brocot.ordered_tables WHERE name <> 'items'")
        #expect(orders == [renamed.names.orderedTable])
    }

    @Test("brocot detach of a renamed table drops the triggers of an earlier version", arguments: rankColumns)
    func detachAfterRename(rank: String) async throws {
        let definition = AttachFixture.definition(rank: rank)
        let fixture = try await attached(definition)
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME TO work")
        try await fixture.detach(definition, droppingColumns: false)
        #expect(try await triggers(of: "work", fixture).isEmpty)
    }

    @Test("brocot attach of a renamed table without --arrive-now drops the triggers that place rows at once")
    func noLongerAtOnce() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach(AttachFixture.definition(arriveNow: true))
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME TO work")
        let renamed = AttachFixture.definition(table: "work")
        try await fixture.attach(renamed)
        #expect(try await triggers(of: "work", fixture) == present(renamed.names).union([renamed.names.drawTrigger]))
    }
}
