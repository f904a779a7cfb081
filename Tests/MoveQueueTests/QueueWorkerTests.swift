import MoveQueue
import Ordering
import QueueHarness
import TestLimit
import TestPostgres
import Testing

@Suite("A worker's turns on a database", .database, .usualTimeLimit)
struct QueueWorkerTests {
    @Test("A worker that goes to a random request begins with the list of that request") func beginsAtRandomRequest()
        async throws
    {
        let fixture = try await QueueFixture()
        let moves = ["z", "a"].map { name in
            Move(
                list: ListIdentifier(orderedTable: "items", key: name), items: ["x"], action: .place(.last, from: nil))
        }
        var configuration = QueueConfiguration()
        configuration.limits.lists = 1
        // Only the later request is beyond the lower bound of a random place, but for one place in very many.
        try await fixture.enqueue([moves[0]])
        try await fixture.connection.execute("SELECT setval('brocot.move_requests_id_seq', 1000000000)")
        try await fixture.enqueue([moves[1]])
        var worker = QueueWorker(configuration)
        try await worker.goToRandomList(on: fixture.connection)
        _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
        #expect(try await fixture.lists() == ["a": ["x"]])
    }

    @Test("A worker that is woken for the second time finds a request after the ids began again")
    func restartedIDs() async throws {
        let fixture = try await QueueFixture()
        let move = Move(
            list: ListIdentifier(orderedTable: "items", key: "a"), items: ["x"], action: .place(.last, from: nil))
        var configuration = QueueConfiguration()
        configuration.pollInterval = .zero
        var worker = QueueWorker(configuration)
        for _ in 0..<10 {
            _ = try await fixture.enqueue([move])
            for _ in 0..<3 { _ = try await worker.runTurnDespiteTimeout(on: fixture.connection) }
        }
        #expect(!worker.readsWholeQueue, "the floor did not rise")
        worker.readWholeQueue()
        for _ in 0..<10 {
            _ = try await fixture.enqueue([move])
            for _ in 0..<3 { _ = try await worker.runTurnDespiteTimeout(on: fixture.connection) }
        }
        try await fixture.connection.execute(
            script: "DELETE FROM brocot.move_log; ALTER TABLE brocot.move_requests ALTER COLUMN id RESTART WITH 1")
        _ = try await fixture.enqueue([move])
        for _ in 0..<3 { _ = try await worker.runTurnDespiteTimeout(on: fixture.connection) }
        #expect(try await fixture.connection.query("SELECT FROM brocot.move_requests").isEmpty)
    }

    @Test("A worker locks both lists of a change of list at once, also after a batch without changes of list")
    func locksBothLists()
        async throws
    {
        let fixture = try await QueueFixture()
        func list(_ name: String) -> ListIdentifier { ListIdentifier(orderedTable: "items", key: name) }
        try await fixture.enqueue([
            Move(list: list("c"), items: ["x"], action: .place(.last, from: nil))
        ])
        try await fixture.drain()
        try await fixture.enqueue([
            Move(list: list("z"), items: ["y"], action: .place(.last, from: nil)),
            Move(list: list("b"), items: ["x"], action: .place(.last, from: "c")),
        ])
        var configuration = QueueConfiguration()
        configuration.limits.lists = 1
        var worker = QueueWorker(configuration)
        _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
        #expect(try await fixture.lists() == ["z": ["y"], "c": ["x"]])
        _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
        #expect(try await fixture.lists() == ["z": ["y"], "b": ["x"]])
    }

    @Test("The drain that tests share tries again after a statement time-out, as a daemon does")
    func drainsAfterTimeouts() async throws {
        let fixture = try await QueueFixture()
        try await fixture.connection.execute(
            script: """
                CREATE SEQUENCE deletions;
                CREATE FUNCTION cancel() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF nextval('public.deletions') <= 6 THEN RAISE EXCEPTION 'too slow' USING ERRCODE = '57014'; END IF;
                    RETURN OLD;
                END $$;
                CREATE TRIGGER cancel BEFORE DELETE ON brocot.move_requests FOR EACH ROW EXECUTE FUNCTION cancel();
                """)
        try await fixture.enqueue([Move(list: "a", items: ["x"], action: .place(.last, from: nil))])
        await #expect(throws: BatchFailure.self) {
            var worker = QueueWorker()
            _ = try await worker.runTurn(on: fixture.connection)
        }
        try await fixture.drain()
        #expect(try await fixture.lists() == ["a": ["x"]])
    }
}
