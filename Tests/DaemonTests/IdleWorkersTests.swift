import Testing

@testable import Daemon

@Suite("Workers that wait", .timeLimit(.minutes(30))) struct IdleWorkersTests {
    private let workers = IdleWorkers(workers: 2, onAllWaiting: {})

    @Test("leave it to one of them to wait for more requests, until that one no longer does")
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

    @Test("take over from one that has decided nothing for 100 ms")
    func silence() async {
        let start = ContinuousClock.now
        workers.noteDecision(wakesAnother: false)
        await workers.standBy()
        #expect(.now - start >= .milliseconds(100))
    }
}
