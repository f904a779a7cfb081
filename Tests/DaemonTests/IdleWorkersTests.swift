import TestPostgres
import Testing

@testable import Daemon

@Suite("Workers that wait", .timeLimit(.minutes(30))) struct IdleWorkersTests {
    private let workers = IdleWorkers(workers: 2, onAllWaiting: {})
    private var soon: ContinuousClock.Instant { .now + .seconds(60) }

    @Test("A worker rests while another one works, until it is woken")
    func rests() async throws {
        let resting = Task { await workers.rest(until: soon) }
        try await eventually("one worker rests") { workers.waiting == .some }
        workers.wakeOne()
        await resting.value
        #expect(workers.waiting == .none)
    }

    @Test("The last worker does not rest")
    func lastWorker() async throws {
        let waiting = Task { await workers.wait() }
        try await eventually("the other worker waits") { workers.waiting == .some }
        await workers.rest(until: soon)
        workers.wakeOne()
        await waiting.value
    }

    @Test("A worker that rests continues at its deadline")
    func deadline() async {
        let start = ContinuousClock.now
        await workers.rest(until: start + .milliseconds(20))
        #expect(.now - start >= .milliseconds(20))
    }

    @Test("A decision that needs another worker wakes it")
    func decision() async throws {
        let resting = Task { await workers.rest(until: soon) }
        try await eventually("one worker rests") { workers.waiting == .some }
        workers.noteDecision(wakesAnother: false)
        #expect(workers.waiting == .some)
        workers.noteDecision(wakesAnother: true)
        await resting.value
        #expect(workers.takeDecision() && !workers.takeDecision())
    }
}
