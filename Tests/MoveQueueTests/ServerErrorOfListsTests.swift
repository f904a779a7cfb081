import LibPQ
import Ordering
import QueueHarness
import TestLimit
import TestPostgres
import Testing

@testable import MoveQueue

@Suite("Lists whose trigger meets an error of the server", .database, .usualTimeLimit)
struct ServerErrorOfListsTests {
    private static let missingFile = SQLState(rawValue: "58P01")

    private let healthy = Move(list: ListIdentifier("healthy"), items: ["a"], action: .place(.last, from: nil))

    private func bad(_ number: Int) -> ListIdentifier { ListIdentifier("\(number)", of: "public.cards") }

    /// Pending requests of so many boards: see ``FailingBoards``.
    private func fixture(boards: Int) async throws -> QueueFixture {
        let fixture = try await QueueFixture()
        try await FailingBoards.fill(boards, on: fixture.connection)
        return fixture
    }

    /// Removes the cause. Then all requests are applied.
    private func mend(_ fixture: QueueFixture) async throws {
        let ids = try await fixture.pendingIDs() + fixture.outcomes().keys
        try await fixture.connection.execute("DROP TRIGGER read_file ON cards")
        try await fixture.drain()
        try await fixture.expectAllApplied(ids)
    }

    @Test(
        "A healthy list is decided first, although another session had it locked together with failing lists",
        arguments: [12, 0])
    func unavailableTogether(halvings: Int) async throws {
        let fixture = try await fixture(boards: 3)
        let id = try await fixture.enqueue([healthy])[0]
        let other = try await TestDatabase.current.connect()
        try await other.execute(
            script: """
                BEGIN; SELECT pg_advisory_xact_lock(brocot.list_lock_key(ordered_table, list)) FROM brocot.move_requests
                """)
        let share = BatchShare(halvings: halvings)
        var worker = QueueWorker()
        try await eventually("all lists are postponed", pause: .zero) {
            _ = try await worker.runTurnDespiteTimeout(share, on: fixture.connection)
            return worker.postponed.lists
        } until: {
            $0.count == 4
        }
        try await other.execute(script: "COMMIT")
        try await Task.sleep(until: try #require(worker.postponed.nextDue), clock: .continuous)
        var failures: [ListFailure] = []
        try await eventually("each of the three lists has failed alone") {
            failures += try await worker.runTurnDespiteTimeout(share, on: fixture.connection).failures
            return Set(failures.map(\.list))
        } until: {
            $0 == [bad(1), bad(2), bad(3)]
        }
        #expect(try await fixture.outcomes() == [id: nil])
        #expect(failures.allSatisfy { $0.error.databaseError?.sqlState == Self.missingFile })
        try await mend(fixture)
    }

    @Test(
        "Hundreds of lists whose trigger meets an error of the server are found in few batches, and delay no other list"
    )
    func many() async throws {
        let fixture = try await fixture(boards: 300)
        let id = try await fixture.enqueue([healthy])[0]
        var (worker, batches): (QueueWorker, Int) = (QueueWorker(), 0)
        while try await fixture.outcomes().isEmpty {
            batches += 1
            try #require(batches <= 60, "the request of the healthy list is pending after 60 batches")
            _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
        }
        #expect(try await fixture.outcomes() == [id: nil])
        try await mend(fixture)
    }

    @Test("A turn that decides nothing reports the server's error, and a turn that decides something doesn't")
    func errorOfServer() async throws {
        let fixture = try await fixture(boards: 2)
        var worker = QueueWorker()
        let result = try await worker.runTurnDespiteTimeout(on: fixture.connection)
        #expect(result.errorOfServer?.databaseError?.sqlState == Self.missingFile)
        try await fixture.enqueue([healthy])
        var later = QueueWorker()
        let decided = try await later.runTurnDespiteTimeout(on: fixture.connection)
        #expect(decided.failures.count == 2 && decided.errorOfServer == nil)
        try await mend(fixture)
    }
}
