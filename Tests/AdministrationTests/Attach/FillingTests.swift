import LibPQ
import Logging
import Ordering
import SeededRandom
import Synchronization
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Placing of existing rows", .database, .usualTimeLimit) struct FillingTests {
    private static let definition = AttachFixture.definition()

    /// A table of 1,000 rows in 10 lists, attached up to the placing of rows.
    private func prepared(
        timeToNotice: Duration = .seconds(5), logger: Logger = .silent
    ) async throws -> (AttachFixture, Filling) {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint);
            INSERT INTO tasks SELECT n, n % 10 FROM generate_series(1, 1000) AS n;
            """)
        let columns = try await fixture.prepare(Self.definition).columns
        return (
            fixture,
            Filling(
                columns, connection: fixture.connection, batchSize: 70, timeToNotice: timeToNotice, logger: logger)
        )
    }

    private let isAsOrdered = """
        SELECT bool_and(rank = number) FROM (
            SELECT rank, row_number() OVER (PARTITION BY project_id ORDER BY id DESC) - 1 AS number FROM tasks WHERE id <= 1000
        ) AS placed
        """

    @Test(
        "A trigger that keeps a row from getting its rank ends the placing of rows, and the row is named",
        arguments: [
            "RETURN NULL;", "RETURN OLD;", "NEW.project_id := 33; RETURN NEW;",
            "NEW.rank := 500; NEW.rank_num := 500; RETURN NEW;",
        ])
    func vetoes(body: String) async throws {
        let (fixture, filling) = try await prepared()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION veto() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(body) END $$;
                CREATE TRIGGER veto BEFORE UPDATE ON tasks FOR EACH ROW WHEN (OLD.id = 77) EXECUTE FUNCTION veto();
                """)
        let error = await #expect(throws: AttachError.self) {
            try await filling.run(.all, orderedBy: "id DESC") { _, _ in }
        }
        #expect("\(try #require(error))".contains("The row of item '77' was not written as asked"))
        try await fixture.connection.execute("DROP TRIGGER veto ON tasks")
        try await filling.run(.stored(1000), orderedBy: nil) { _, _ in }
        #expect(try await fixture.connection.query(SQL(unsafeRaw: isAsOrdered)).single().decode(0, as: Bool.self))
    }

    @Test(
        "If a trigger or constraint refuses a row, the placing of rows ends, and the row is named",
        arguments: [
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
            CREATE TRIGGER refuse BEFORE UPDATE ON tasks FOR EACH ROW WHEN (OLD.id = 77) EXECUTE FUNCTION refuse();
            """,
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
            CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON tasks DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW WHEN (OLD.id = 77) EXECUTE FUNCTION refuse();
            """, "ALTER TABLE tasks ADD CHECK (id <> 77) NOT VALID;",
        ])
    func refusals(script: String) async throws {
        let (fixture, filling) = try await prepared()
        try await fixture.connection.execute(script: script)
        let error = await #expect(throws: AttachError.self) {
            try await filling.run(.all, orderedBy: "id DESC") { _, _ in }
        }
        #expect(
            "\(try #require(error))".contains(
                "The row of item '77' can't get its rank, because a trigger or constraint"))
        let placed = try await fixture.connection.query("SELECT count(*) FROM tasks WHERE rank IS NOT NULL").single()
        let before = try await fixture.connection.query(
            "SELECT count(*) FROM brocot.rows_to_place WHERE number > (SELECT number FROM brocot.rows_to_place WHERE item = '77')"
        ).single()
        #expect(try placed.decode(0) + before.decode(0, as: Int.self) == 999)
    }

    @Test("The placing of existing rows continues after an interruption, in the order that was stored first")
    func resumes() async throws {
        let (fixture, filling) = try await prepared()
        let task = Task {
            try await filling.run(.all, orderedBy: "id DESC") { done, _ in
                if done > 300 { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        await #expect(throws: AttachError.self) { try await task.value(until: "the cancelled filling ended") }
        let placed = try await fixture.texts("SELECT count(rank) FROM tasks")
        #expect(placed != ["0"] && placed != ["1000"])
        let rest = try await filling.rowsToPlace(placingAll: false)
        #expect(
            rest
                == .stored(
                    try await fixture.connection.query("SELECT count(*) FROM brocot.rows_to_place").single().decode(0)))
        try await filling.run(rest, orderedBy: "id") { _, _ in }
        #expect(try await fixture.texts(isAsOrdered) == ["t"])
        #expect(
            try await fixture.texts("SELECT being_filled FROM brocot.ordered_tables WHERE name <> 'items'") == ["f"])
    }

    @Test("The placing of existing rows skips rows that were inserted, deleted or moved to another list meanwhile")
    func concurrentChanges()
        async throws
    {
        let (fixture, filling) = try await prepared()
        // The rows to place were stored before the changes.
        try await fixture.connection.execute(
            script: """
                INSERT INTO tasks VALUES (2000, 1); DELETE FROM tasks WHERE id = 1;
                UPDATE tasks SET project_id = 5 WHERE id = 2;
                INSERT INTO brocot.rows_to_place
                SELECT 'public.tasks', n, ARRAY[(n % 10)::text], n::text, (n - 1) / 10 FROM generate_series(1, 1000) AS n
                """)
        let placed = try await filling.run(.stored(1000), orderedBy: nil) { _, _ in }
        #expect(placed == 998)
        #expect(try await fixture.texts("SELECT count(rank) FROM tasks") == ["998"])
        #expect(try await fixture.texts("SELECT id FROM tasks WHERE rank IS NULL ORDER BY id") == ["2", "2000"])
        #expect(try await fixture.requests() == ["public.tasks 1 {2000} arrive", "public.tasks 5 {2} arrive"])
    }

    @Test("The placing of existing rows does not wait for a locked row, and places the row later") func lockedRows()
        async throws
    {
        let (fixture, filling) = try await prepared()
        let other = try await TestDatabase.current.connect()
        try await other.execute(script: "BEGIN; UPDATE tasks SET project_id = project_id WHERE id IN (5, 500)")
        let task = Task { try await filling.run(.all, orderedBy: "id DESC") { _, _ in } }
        let observer = try await TestDatabase.current.observer
        try await eventually(
            "all rows but the locked ones are placed",
            read: { try await observer.query("SELECT count(rank) FROM tasks").single().decode(0, as: Int.self) },
            until: { $0 >= 998 })
        try await other.execute(script: "COMMIT")
        _ = try await task.value(until: "the rows are placed")
        #expect(try await fixture.texts(isAsOrdered) == ["t"])
    }

    @Test("If a session keeps rows locked, the placing of existing rows says that it waits, and for whom")
    func notice() async throws {
        let recorder = LogRecorder()
        let (_, filling) = try await prepared(
            timeToNotice: .milliseconds(300), logger: recorder.logger(level: .notice))
        let other = try await TestDatabase.current.connect()
        try await other.execute(
            script: "SET application_name = 'editor'; BEGIN; UPDATE tasks SET project_id = project_id WHERE id = 5")
        let task = Task { try await filling.run(.all, orderedBy: nil) { _, _ in } }
        let entries = try await eventually("there is a notice", read: { recorder.entries }) { !$0.isEmpty }
        #expect(entries[0].message.hasPrefix("rows of public.tasks are locked by other sessions"))
        #expect(
            entries[0].metadata["holder"] == "process \(other.backendProcessIdentifier) (user postgres, editor)")
        try await other.execute(script: "COMMIT")
        _ = try await task.value(until: "the rows are placed")
        #expect(recorder.entries.count == 1)
    }

    /// The trigger waits for a lock of the other session while a batch has locked its first row and not yet the others.
    @Test("The placing of existing rows continues if another session moves a row to another partition meanwhile")
    func movedToAnotherPartition() async throws {
        let fixture = try await AttachFixture(
            """
            \(AttachFixture.partitionedTasks)
            INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 10) AS n;
            CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NEW; END $$;
            CREATE TRIGGER wait BEFORE UPDATE ON tasks FOR EACH ROW WHEN (OLD.id = 1) EXECUTE FUNCTION wait();
            """)
        let other = try await TestDatabase.current.connect()
        try await other.execute("SELECT pg_advisory_lock(1)")
        let filling = Task { try await fixture.attach() }
        try await TestDatabase.current.waitUntilBlocked(fixture.connection, by: other)
        try await other.execute(script: "UPDATE tasks SET project_id = 2 WHERE id = 9")
        try await other.execute("SELECT pg_advisory_unlock(1)")
        _ = try await filling.value(until: "the rows are placed")
        #expect(
            try await fixture.texts("SELECT string_agg(id || '', ' ' ORDER BY rank) FROM tasks WHERE project_id = 1")
                == ["\"1 2 3 4 5 6 7 8 10\""])
        #expect(try await fixture.requests() == ["public.tasks 2 {9} arrive"])
    }

    /// How often each of three sessions has moved a row.
    private final class Counts: Sendable {
        private let counts = Mutex([0, 0, 0])

        var all: [Int] { counts.withLock { $0 } }

        func add(_ writer: Int) { counts.withLock { $0[writer] += 1 } }
    }

    @Test("brocot attach places the rows of a partitioned table while three sessions move rows between partitions")
    func manyMovesBetweenPartitions() async throws {
        let fixture = try await AttachFixture(
            """
            \(AttachFixture.partitionedTasks)
            INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 2000) AS n;
            """)
        var generator = SeededGenerator(for: "moves between partitions")
        let seed = Double.random(in: 0..<1, using: &generator)
        let moves = Counts()
        let writers = (0..<3).map { writer in
            Task {
                let other = try await TestDatabase.current.connect()
                try await other.execute(script: "SELECT setseed(\(seed) - \(writer) / 3.0)")
                while !Task.isCancelled {
                    try await other.execute(
                        script: """
                            UPDATE tasks SET project_id = 3 - project_id WHERE id = 3 * (random() * 640)::int + \(writer)
                            """)
                    moves.add(writer)
                }
            }
        }
        let attaching = Task {
            let before = try await eventually("each session moves rows", read: { moves.all }) {
                $0.allSatisfy { $0 > 0 }
            }
            try await fixture.attach()
            #expect(moves.all.reduce(0, +) > before.reduce(0, +), "no row was moved meanwhile")
        }
        let attached = try await attaching.result(until: "the table is attached")
        for writer in writers {
            writer.cancel()
            _ = try await writer.result(until: "the session ended that moves rows")
        }
        try attached.get()
        let isUnasked = """
            SELECT count(*) FROM tasks WHERE rank IS NULL AND NOT EXISTS (
                SELECT FROM brocot.move_requests WHERE list = tasks.project_id::text AND tasks.id::text = ANY (items))
            """
        #expect(try await fixture.texts(isUnasked) == ["0"])
        #expect(try await fixture.texts("SELECT count(rank) > 200 FROM tasks") == ["t"])
    }

    @Test("A batch that conflicts with other sessions is tried again with half of its rows, until it is small enough")
    func smallerBatches() async throws {
        let (fixture, filling) = try await prepared()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF (SELECT count(*) FROM written) > 40 THEN RAISE EXCEPTION 'too many' USING ERRCODE = '40001'; END IF;
                    RETURN NULL;
                END $$;
                CREATE TRIGGER conflict AFTER UPDATE ON tasks REFERENCING NEW TABLE AS written
                    FOR EACH STATEMENT EXECUTE FUNCTION conflict();
                DELETE FROM tasks WHERE id > 100
                """)
        try await filling.run(.all, orderedBy: "id DESC") { _, _ in }
        #expect(try await fixture.texts(isAsOrdered) == ["t"])
    }
}
