import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

/// Comments refer to tasks by a foreign key. An INSERT of a comment locks its task with FOR KEY SHARE.
@Suite("Rows that refer to rows of an attached table", .database, .usualTimeLimit) struct ReferencingRowTests {
    private static let comments = "CREATE TABLE comments (task_id bigint REFERENCES tasks, body text)"
    private static let comment = "INSERT INTO comments VALUES (1, 'seen')"
    private static let moveLast = "SELECT brocot.move_now(1, 1, last => true, ordered_table => 'public.tasks')"
    private static let moveFirst = "SELECT brocot.move_now(1, 1, first => true, ordered_table => 'public.tasks')"
    /// Far longer than a statement that waits for nobody.
    private static let patience = "SET lock_timeout = '10s'"

    private func attachedTasks() async throws -> AttachFixture {
        let fixture = try await AttachFixture(AttachFixture.tasks + Self.comments)
        try await fixture.attach()
        return fixture
    }

    private func session() async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: Self.patience)
        return connection
    }

    @Test("Neither a move nor an INSERT of a referencing row waits for a transaction that has done the other")
    func waitsForNobody() async throws {
        let fixture = try await attachedTasks()
        let (open, other) = (try await session(), try await session())
        for (first, second) in [(Self.comment, Self.moveLast), (Self.moveFirst, Self.comment)] {
            let place = try await fixture.texts("SELECT rank FROM tasks WHERE id = 1")
            try await open.execute(script: "BEGIN; \(first)")
            try await other.execute(script: second)
            try await open.execute(script: "COMMIT")
            #expect(try await fixture.texts("SELECT rank FROM tasks WHERE id = 1") != place, "the move wrote no row")
        }
    }

    @Test(
        "A move to another list waits for a referencing row if the list is in a key, and causes no deadlock with its transaction"
    )
    func listInKey() async throws {
        let fixture = try await AttachFixture(
            AttachFixture.tasks + "ALTER TABLE tasks ADD COLUMN comments int, ADD UNIQUE (project_id, id);"
                + Self.comments)
        try await fixture.attach()
        let (open, mover) = (try await session(), try await session())
        try await open.execute(script: "BEGIN; \(Self.comment)")
        let move = Task {
            try await mover.execute(
                script: "SELECT brocot.move_now(2, 1, last => true, from_list => 1, ordered_table => 'public.tasks')")
        }
        try await TestDatabase.current.waitUntilBlocked(mover, by: open)
        try await open.execute(script: "UPDATE tasks SET comments = 1 WHERE id = 1; COMMIT")
        try await move.value(until: "the move ended")
        #expect(
            try await fixture.texts("SELECT concat(project_id, '-', comments) FROM tasks WHERE id = 1")
                == ["2-1"])
    }

    @Test("A referencing row can be inserted in a REPEATABLE READ transaction that began before a move")
    func repeatableRead() async throws {
        let fixture = try await attachedTasks()
        let open = try await session()
        try await open.execute(script: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM comments")
        try await fixture.connection.execute(script: Self.moveLast)
        try await open.execute(script: "\(Self.comment); COMMIT")
    }

    @Test("brocot attach places rows that open transactions refer to") func attaches() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks + Self.comments)
        // The index can't be built while the transaction is open, but rows can be placed.
        let plan = try await fixture.prepare(AttachFixture.definition())
        let open = try await session()
        try await open.execute(script: "BEGIN; \(Self.comment)")
        try await fixture.connection.execute(script: Self.patience)
        try await Filling(plan.columns, connection: fixture.connection, logger: .silent)
            .run(.all, orderedBy: nil) { _, _ in }
        #expect(try await fixture.texts("SELECT count(*) FROM tasks WHERE rank IS NULL") == ["1"])
        try await open.execute(script: "COMMIT")
    }
}
