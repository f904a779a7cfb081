import Synchronization
import TestLimit
import TestPostgres
import Testing

@testable import Daemon

@Suite("Workers that wait", .usualTimeLimit) struct IdleWorkersTests {
    private let workers: IdleWorkers
    private let stopSignal = StopSignal()

    init() { workers = IdleWorkers(workers: 2, stopSignal: stopSignal, onAllWaiting: {}) }

    /// A deadline that a test never reaches, so that the rest ends for another reason.
    private var tomorrow: ContinuousClock.Instant { .now + .seconds(86_400) }

    /// Begins a rest until tomorrow, in a task of its own.
    private func rest() -> (task: Task<Void, Never>, isOver: Flag) {
        let isOver = Flag()
        let task = Task { [workers, tomorrow] in
            await workers.rest(until: tomorrow)
            isOver.set()
        }
        return (task, isOver)
    }

    @Test("A worker rests while another one works, until it is woken")
    func rests() async throws {
        let (resting, isOver) = rest()
        defer { resting.cancel() }
        try await eventually("one worker rests", read: { workers.waiting }) { $0 == .some }
        workers.wakeOne()
        try await eventually("the rest is over") { isOver.isSet }
        #expect(workers.waiting == .none)
    }

    @Test("A wake-up while no worker waits is kept for the next one that would wait, once")
    func keptWakeUp() async throws {
        workers.wakeOne()
        let (first, isFirstOver) = rest()
        defer { first.cancel() }
        try await eventually("the kept wake-up ends the rest") { isFirstOver.isSet }
        let (second, _) = rest()
        defer { second.cancel() }
        try await eventually("the next worker rests", read: { workers.waiting }) { $0 == .some }
    }

    @Test("A worker may rest only if another one works and has decided requests lately")
    func mayRest() async throws {
        #expect(!workers.mayRest(1), "nobody has decided anything")
        workers.noteDecision(by: 1, wakesAnother: false)
        #expect(!workers.mayRest(1), "only worker 1 has decided anything")
        workers.noteDecision(by: 2, wakesAnother: false)
        try await eventually("worker 2 has decided lately") {
            workers.noteDecision(by: 2, wakesAnother: false)
            return workers.mayRest(1)
        }
        let waiting = Task { await workers.wait() }
        try await eventually("the other worker waits", read: { workers.waiting }) { $0 == .some }
        #expect(!workers.mayRest(1), "the other worker waits")
        workers.wakeOne()
        try await waiting.value(until: "the other worker is woken")
        try await eventually("worker 2 has not decided lately") { !workers.mayRest(1) }
    }

    @Test("The worker that has waited longest is woken first") func order() async throws {
        let workers = IdleWorkers(workers: 9, stopSignal: stopSignal, onAllWaiting: {})
        let woken = Woken()
        var waits: [Task<Void, Never>] = []
        for number in 1...8 {
            waits.append(
                Task {
                    await workers.wait()
                    woken.add(number)
                })
            try await eventually("\(number) workers wait", read: { workers.waitingCount }) { $0 == number }
        }
        for number in 1...8 {
            workers.wakeOne()
            try await eventually("worker \(number) is woken", read: { woken.numbers }) { $0 == Array(1...number) }
        }
        for wait in waits { try await wait.value(until: "all workers are woken") }
    }

    private final class Woken: Sendable {
        private let list = Mutex<[Int]>([])
        var numbers: [Int] { list.withLock { $0 } }
        func add(_ number: Int) { list.withLock { $0.append(number) } }
    }

    @Test("The last worker does not rest")
    func lastWorker() async throws {
        let waiting = Task { await workers.wait() }
        try await eventually("the other worker waits", read: { workers.waiting }) { $0 == .some }
        let (resting, isOver) = rest()
        defer { resting.cancel() }
        try await eventually("the last worker continues") { isOver.isSet }
        #expect(workers.waiting == .some)
        workers.wakeOne()
        try await waiting.value(until: "the other worker is woken")
    }

    @Test("A worker that rests continues at its deadline")
    func deadline() async throws {
        let start = ContinuousClock.now
        try await withDeadline("the rest ended") { [workers] in await workers.rest(until: start + .milliseconds(20)) }
        #expect(workers.waiting == .none)
        #expect(.now - start >= .milliseconds(20))
    }

    @Test("The stop signal wakes all workers, and from then on no worker waits")
    func stop() async throws {
        let waits = [Task { await workers.wait() }, Task { await workers.wait() }]
        try await eventually("all workers wait", read: { workers.waiting }) { $0 == .all }
        stopSignal.set()
        for wait in waits { try await wait.value(until: "all workers are woken") }
        try await withDeadline("the wait ended after the stop signal") { [workers] in await workers.wait() }
        #expect(workers.waiting == .none)
    }

    @Test("A decision that needs another worker wakes it")
    func decision() async throws {
        let (resting, isOver) = rest()
        defer { resting.cancel() }
        try await eventually("one worker rests", read: { workers.waiting }) { $0 == .some }
        workers.noteDecision(by: 2, wakesAnother: false)
        #expect(workers.waiting == .some)
        workers.noteDecision(by: 2, wakesAnother: true)
        try await eventually("the rest is over") { isOver.isSet }
        #expect(workers.hasDecidedSinceLastCall() && !workers.hasDecidedSinceLastCall())
    }
}
