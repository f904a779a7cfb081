import LibPQ
import MoveQueue
import Ordering
import OrderingModel
import QueueHarness
import TestLimit
import TestPostgres
import Testing

@Suite("Ranks that give no order", .database, .usualTimeLimit)
struct DamagedRanksTests {
    private func place(_ item: String, _ placement: Placement, in list: String) -> Move {
        Move(list: ListIdentifier(list, of: "items"), items: [item], action: .place(placement))
    }

    @Test(
        "A list waits alone if a move reads two rows with the same rank, or a sort key that is not its fraction's value",
        arguments: [
            (
                "ALTER TABLE brocot.items DROP CONSTRAINT items_list_rank_key; UPDATE brocot.items SET (rank_num, rank) = (0, 0) WHERE item = '2'",
                "has the same rank as item"
            ),
            (
                """
                ALTER TABLE brocot.items DROP CONSTRAINT rank_is_valid; UPDATE brocot.items SET rank = 9 WHERE item = '1'
                """, "has a rank that is not the value of its fraction"
            ),
        ], [Placement.at(1), .last])
    func damaged(by damage: (script: String, message: String), placement: Placement) async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue([place("1", .last, in: "a"), place("2", .last, in: "a"), place("3", .last, in: "a")])
        try await fixture.enqueue([place("4", .last, in: "a"), place("5", .last, in: "b")])
        try await fixture.drain()
        try await fixture.connection.execute(script: damage.script)
        let ids = try await fixture.enqueue([place("4", placement, in: "a"), place("6", .first, in: "b")])
        var worker = QueueWorker()
        var errors: Set<String> = []
        for _ in 1...6 {
            errors.formUnion(try await worker.runTurnDespiteTimeout(on: fixture.connection).failures.map { "\($0)" })
        }
        #expect(try await fixture.outcomes(since: ids[0]) == [ids[1]: nil])
        #expect(errors.count == 1 && errors.first?.contains(damage.message) == true, "\(errors)")
    }
}
