import MoveQueue
import TestLimit
import TestPostgres
import Testing

@Suite("The flag of sleeping daemons", .database, .usualTimeLimit) struct SleepFlagTests {
    @Test("A daemon that ends clears the flag, and notifies the others, so that a sleeping one sets it again")
    func clearAtEnd() async throws {
        let (ending, other) = try await (TestDatabase.current.connect(), TestDatabase.current.connect())
        try await SleepFlag.listen(on: other)
        try await SleepFlag.set(true, on: ending)
        #expect(try await other.notifications(waitingAtMost: .zero).isEmpty)
        try await SleepFlag.clearAtEnd(on: ending)
        let flag = try await other.query("SELECT is_called FROM brocot.sleepers").single()
        #expect(try !flag.decode(0, as: Bool.self))
        let received = try await other.notifications(waitingAtMost: .seconds(60))
        #expect(received.map(\.channel) == [SleepFlag.channel])
    }
}
