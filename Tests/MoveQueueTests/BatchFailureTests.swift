import Testing

@testable import LibPQ
@testable import MoveQueue

@Suite("Failures of batches", .timeLimit(.minutes(30))) struct BatchFailureTests {
    @Test("Reading was too slow if the server cancelled a statement that reads, and no other one")
    func readingTooSlow() {
        let timeOut = PostgresError(fields: .init(code: .server, message: "canceled", sqlState: .queryCanceled))
        #expect(BatchFailure(.database(timeOut), happenedWhileReading: true).wasReadingTooSlow)
        #expect(!BatchFailure(.database(timeOut)).wasReadingTooSlow)
    }
}
