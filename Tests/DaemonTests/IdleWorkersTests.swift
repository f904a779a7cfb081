import Testing

@testable import Daemon

@Suite("Workers that wait", .timeLimit(.minutes(30))) struct IdleWorkersTests {
    private let workers = IdleWorkers(workers: 2, onAllWaiting: {})

    @Test("Only one worker waits for more requests, and another can do so after it")
    func gatherer() {
        #expect(workers.gathers(1))
        #expect(!workers.gathers(2))
        #expect(workers.anotherGathers(than: 2) && !workers.anotherGathers(than: 1))
        workers.gathersNoLonger(2)
        #expect(!workers.gathers(2))
        workers.gathersNoLonger(1)
        #expect(!workers.anotherGathers(than: 2))
        #expect(workers.gathers(2))
    }

    @Test("A waiting worker takes over after 100 ms without a decision of another worker")
    func silence() async {
        let start = ContinuousClock.now
        workers.noteDecision(wakesAnother: false)
        await workers.standBy()
        #expect(.now - start >= .milliseconds(100))
    }
}
