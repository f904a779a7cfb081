import LibPQ
import Ordering
import OrderingModel
import QueueHarness
import TestLimit
import TestPostgres
import Testing

@testable import MoveQueue

@Suite("A table that can't be used at all", .database, .usualTimeLimit)
struct UnusableTableTests {
    private let count = 400

    /// Requests of many lists of one table, and of one list of `brocot.items`. Returns the id of the latter.
    private func enqueue(_ fixture: QueueFixture) async throws -> Int64 {
        var model = ListModel(ownsRows: false)
        let names = (1...count).map { "\($0)" }
        try await ModelTable.deferrable.create(lists: names, items: names, in: &model, fixture.connection)
        let moves = names.map {
            Move(list: ListIdentifier($0, of: "public.tasks"), items: [$0], action: .place(.last, from: nil))
        }
        try await fixture.enqueue(moves)
        return try await fixture.enqueue([
            Move(list: ListIdentifier("healthy"), items: ["a"], action: .place(.last, from: nil))
        ])[0]
    }

    /// Runs turns of a worker until the request of the healthy list is decided.
    private func runTurns(
        of worker: inout QueueWorker, on connection: Connection, _ fixture: QueueFixture, until healthy: Int64
    ) async throws {
        for _ in 1...20 where try await fixture.outcomes()[healthy] == nil {
            _ = try await worker.runTurnDespiteTimeout(on: connection)
        }
        #expect(try await fixture.outcomes() == [healthy: nil])
    }

    @Test(
        "All its lists are left out together after some have failed, other lists go on, and all requests are decided once it is mended",
        arguments: [
            ("ALTER TABLE tasks RENAME board TO project", "ALTER TABLE tasks RENAME project TO board"),
            ("ALTER TABLE tasks RENAME TO todos", "ALTER TABLE todos RENAME TO tasks"),
        ])
    func missingColumn(change: String, mend: String) async throws {
        let fixture = try await QueueFixture()
        let healthy = try await enqueue(fixture)
        try await fixture.connection.execute(script: change)
        var worker = QueueWorker()
        try await runTurns(of: &worker, on: fixture.connection, fixture, until: healthy)
        try await eventually("the table is left out", pause: .zero) {
            _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
            return worker.postponed.names
        } until: {
            $0.tables == ["public.tasks"] && $0.lists.count == UnusableTables.fewestLists
        }
        try await fixture.connection.execute(script: mend)
        try await worker.drain(on: fixture.connection)
        #expect(try await fixture.outcomes().count == count + 1)
        #expect(worker.postponed.names == .none)
    }

    /// Runs `body` with a connection of a role that has all rights on the queue, and these rights on the table.
    private func asWorker(
        with rights: String?, _ fixture: QueueFixture, _ body: (Connection) async throws -> Void
    ) async throws {
        try await TestRole.with("worker", owner: fixture.connection) { role in
            try await fixture.connection.execute(
                script: """
                    GRANT USAGE ON SCHEMA brocot TO \(role.name);
                    GRANT ALL ON ALL TABLES IN SCHEMA brocot TO \(role.name); GRANT ALL ON ALL SEQUENCES IN SCHEMA brocot TO \(role.name);
                    \(rights.map { "GRANT \($0) ON tasks TO \(role.name)" } ?? "")
                    """)
            let connection = try await TestDatabase.current.connect()
            try await connection.execute(script: "SET ROLE \(role.name)")
            try await body(connection)
            try await connection.execute(script: "RESET ROLE")
        }
    }

    @Test("A worker whose role may not read a table leaves it out")
    func missingRight() async throws {
        let fixture = try await QueueFixture()
        let healthy = try await enqueue(fixture)
        try await asWorker(with: nil, fixture) { connection in
            var worker = QueueWorker()
            try await eventually("the table is left out", pause: .zero) {
                _ = try await worker.runTurnDespiteTimeout(on: connection)
                return worker.postponed.names
            } until: {
                $0.tables == ["public.tasks"]
            }
            try await runTurns(of: &worker, on: connection, fixture, until: healthy)
        }
    }

    @Test("A right that only some moves need does not make a worker leave out the table")
    func rightOfSomeMoves() async throws {
        let fixture = try await QueueFixture()
        _ = try await enqueue(fixture)
        let pending = try await fixture.pendingIDs()
        let changes = try await fixture.enqueue(
            (1...100).map {
                Move(
                    list: ListIdentifier("\(2 * $0)", of: "public.tasks"), items: ["\(2 * $0 - 1)"],
                    action: .place(.last, from: "\(2 * $0 - 1)"))
            })
        try await asWorker(with: "SELECT, UPDATE (rank, rank_num, rank_den)", fixture) { connection in
            var worker = QueueWorker()
            var leftOut: Set<String> = []
            try await eventually("only the changes of list are left", pause: .zero) {
                _ = try await worker.runTurnDespiteTimeout(on: connection)
                leftOut.formUnion(worker.postponed.names.tables)
                return try await fixture.pendingIDs()
            } until: {
                $0 == changes
            }
            #expect(leftOut.isEmpty)
        }
        #expect(try await fixture.outcomes().count == pending.count)
    }
}
