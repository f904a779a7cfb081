import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Triggers that brocot attach names", .database, .usualTimeLimit) struct FiringTriggerTests {
    private static let arguments = ["attach", "public.tasks", "--item", "id"]
    private static let note = "Placing the rows updates each of them, which fires"

    private func database(_ triggers: String) async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id int PRIMARY KEY, title text); INSERT INTO tasks VALUES (1), (2);
                CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
                \(triggers);
                """)
        return connection
    }

    @Test("Before brocot attach places rows, it names the triggers that fire for them, as --dry-run does") func named()
        async throws
    {
        _ = try await database(
            """
            CREATE TRIGGER touch BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION pass();
            CREATE TRIGGER audit AFTER INSERT OR UPDATE ON tasks FOR EACH STATEMENT EXECUTE FUNCTION pass()
            """)
        let note = "\(Self.note) these triggers of the table: audit, touch. To keep updated_at as it is, see"
        let planned = try await BrocotProcess.run(Self.arguments + ["--dry-run"])
        #expect(planned.output.contains(note), "\(planned.output)")
        let attached = try await BrocotProcess.run(Self.arguments)
        #expect(attached.exitCode == 0)
        let warning = try #require(attached.errors.firstRange(of: note), "\(attached.errors)")
        let end = try #require(attached.errors.firstRange(of: "Attached public.tasks"), "\(attached.errors)")
        #expect(warning.upperBound < end.lowerBound)
    }

    @Test(
        "A trigger that does not fire when rows are placed is not named, nor is one with a condition",
        arguments: [
            "CREATE TRIGGER added BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION pass()",
            "CREATE TRIGGER titled BEFORE UPDATE OF title ON tasks FOR EACH ROW EXECUTE FUNCTION pass()",
            """
            CREATE TRIGGER changed BEFORE UPDATE ON tasks FOR EACH ROW WHEN (OLD.title IS DISTINCT FROM NEW.title)
                EXECUTE FUNCTION pass()
            """,
            """
            CREATE TRIGGER disabled BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION pass();
            ALTER TABLE tasks DISABLE TRIGGER disabled
            """,
        ])
    func notNamed(trigger: String) async throws {
        _ = try await database(trigger)
        let attached = try await BrocotProcess.run(Self.arguments)
        #expect(attached.exitCode == 0 && !attached.errors.contains(Self.note), "\(attached.errors)")
    }

    @Test("A trigger on UPDATE of the rank is named if rows are placed again, and none is named if no row is placed")
    func triggerOfRank() async throws {
        let connection = try await database("SELECT 1")
        for command in [Self.arguments, ["detach", "public.tasks"]] {
            #expect(try await BrocotProcess.run(command).exitCode == 0)
        }
        try await connection.execute(
            "CREATE TRIGGER ranked BEFORE UPDATE OF rank ON tasks FOR EACH ROW EXECUTE FUNCTION pass()")
        let kept = try await BrocotProcess.run(Self.arguments + ["--dry-run"])
        #expect(!kept.output.contains(Self.note), "\(kept.output)")
        let placed = try await BrocotProcess.run(Self.arguments + ["--dry-run", "--place-rows"])
        #expect(placed.output.contains("\(Self.note) this trigger of the table: ranked."), "\(placed.output)")
    }

    @Test("A row trigger that only a partition has is named") func triggerOfPartition() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id int, board int, PRIMARY KEY (board, id)) PARTITION BY LIST (board);
                CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1);
                CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
                CREATE TRIGGER touch BEFORE UPDATE ON tasks_1 FOR EACH ROW EXECUTE FUNCTION pass();
                CREATE TRIGGER count AFTER UPDATE ON tasks_1 FOR EACH STATEMENT EXECUTE FUNCTION pass();
                """)
        let planned = try await BrocotProcess.run(Self.arguments + ["--list", "board", "--dry-run"])
        #expect(planned.output.contains("\(Self.note) this trigger of the table: touch."), "\(planned.output)")
    }
}
