import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("The hint for an anchor without a place", .database, .usualTimeLimit)
struct AnchorHintTests {
    @Test(
        "The hint says that the row may be gone, and advises --arrive-now only for an order without it",
        arguments: [false, true])
    func arriveNow(arriveNow: Bool) async throws {
        let caller = try await SQLCaller()
        try await caller.createTasks(lists: ["1"], items: ["1"])
        try await caller.connection.execute(
            "UPDATE brocot.ordered_tables SET arrive_now = \(arriveNow) WHERE name = 'public.tasks'")
        let error = await caller.connection.refusal(
            of: "SELECT brocot.move_now(1, 1, after => 2, ordered_table => 'public.tasks')")
        #expect(SQLCaller.code(of: try #require(error)) == .anchorNotFound)
        #expect(error?.hint?.lowercased().contains("its row was deleted") == true)
        #expect(error?.hint?.contains("--arrive-now") == !arriveNow)
    }
}
