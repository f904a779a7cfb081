import TestLimit
import TestPostgres
import Testing

@Suite("Deadlines of tests", .usualTimeLimit) struct DeadlineTests {
    private let isCancelled = Flag()

    /// A task that never ends, whatever is done.
    private func endless() -> Task<Void, Never> {
        Task { [isCancelled] in
            await withTaskCancellationHandler {
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            } onCancel: {
                isCancelled.set()
            }
        }
    }

    @Test("A wait for a task that never ends fails in time, says what it waited for, and cancels the task")
    func endlessTask() async {
        let task = endless()
        let error = await #expect(throws: NotInTime.self) {
            try await task.value(until: "the daemon ended", within: .milliseconds(50))
        }
        #expect(error?.description == "waited 0.05 seconds until the daemon ended")
        #expect(isCancelled.isSet)
    }

    @Test("A wait for a task that never ends is over when the caller is cancelled, as by the time limit of a test")
    func cancelledWait() async {
        let task = endless()
        let waiting = Task { try await task.value(until: "the daemon ended") }
        waiting.cancel()
        await #expect(throws: CancellationError.self) {
            try await waiting.value(until: "the wait ended", within: .seconds(60))
        }
    }

    private struct Failure: Error, Equatable { let place: String }

    /// Fails beside something that runs.
    private func fail(beside run: @escaping @Sendable () async throws -> Void) async throws {
        try await whileRunning("the daemon", run) { throw Failure(place: "the test") }
    }

    @Test("What runs beside a test is cancelled if the test fails, and its own error comes first")
    func failingTest() async {
        let error = await #expect(throws: Failure.self) {
            try await fail { [isCancelled] in
                try? await Task.sleep(for: .seconds(86_400))
                isCancelled.set()
            }
        }
        #expect(error == Failure(place: "the test") && isCancelled.isSet)
    }

    @Test("If a test and what runs beside it fail, both errors are told")
    func twoFailures() async {
        let error = await #expect(throws: TwoFailures.self) {
            try await fail { throw Failure(place: "the daemon") }
        }
        let text = error?.description ?? ""
        #expect(text.contains("the test") && text.contains("the daemon"))
    }
}
