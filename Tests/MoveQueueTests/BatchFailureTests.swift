import TestLimit
import Testing

@testable import LibPQ
@testable import MoveQueue

@Suite("Failures of batches", .usualTimeLimit) struct BatchFailureTests {
    @Test("Only the cancellation of a statement that reads counts as reading that was too slow")
    func readingTooSlow() {
        let timeOut = PostgresError(fields: .init(code: .server, message: "canceled", sqlState: .queryCanceled))
        #expect(BatchFailure(.database(timeOut), happenedWhileReading: true).wasReadingTooSlow)
        #expect(!BatchFailure(.database(timeOut)).wasReadingTooSlow)
    }
}
