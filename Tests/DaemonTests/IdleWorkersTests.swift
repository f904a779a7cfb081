import Testing

@testable import Daemon

@Suite("Workers that wait", .timeLimit(.minutes(30))) struct IdleWorkersTests {
    private let workers = IdleWorkers(workers: 2, onAllWaiting: {})

    @Test("Only one worker waits for more requests, and another can do so after it")
    func gathering() {
        let role = GatheringRole()
        let taken = [role.tryTake(by: 1), role.tryTake(by: 2), role.tryTake(by: 1)]
        #expect(taken == [true, false, true])
        #expect(role.isTakenByAnother(than: 2) && !role.isTakenByAnother(than: 1))
        role.giveUp(by: 2)
        #expect(role.isTakenByAnother(than: 2), "worker 2 did not have the role")
        role.giveUp(by: 1)
        #expect(!role.isTakenByAnother(than: 2))
        #expect(role.tryTake(by: 2))
    }

    @Test("A waiting worker takes over after 100 ms without a decision of another worker")
    func silence() async {
        let start = ContinuousClock.now
        workers.noteDecision(wakesAnother: false)
        await workers.waitWhileAnotherDecides()
        #expect(.now - start >= .milliseconds(100))
    }
}
