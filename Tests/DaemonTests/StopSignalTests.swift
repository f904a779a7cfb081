import Synchronization
import TestLimit
import TestPostgres
import Testing

@testable import Daemon

@Suite("The signal that stops the daemon's tasks", .usualTimeLimit) struct StopSignalTests {
    private static let day = Duration.seconds(86_400)
    private let signal = StopSignal()

    /// A wait in a task of its own, so that a test can fail whose wait does not end.
    private final class Wait: Sendable {
        let task: Task<Void, Never>
        let (begins, isOver) = (Flag(), Flag())

        init(for signal: StopSignal, atMost duration: Duration = day) {
            task = Task { [begins, isOver] in
                begins.set()
                await signal.wait(atMost: duration)
                isOver.set()
            }
        }

        deinit { task.cancel() }
    }

    @Test("All waits end when the signal is set")
    func set() async throws {
        let waits = [Wait(for: signal), Wait(for: signal)]
        try await eventually("both waits begin") { waits.allSatisfy(\.begins.isSet) }
        // Each task may need a moment until it waits.
        try await Task.sleep(for: .milliseconds(50))
        #expect(waits.count { $0.isOver.isSet } == 0)
        signal.set()
        try await eventually("both waits are over") { waits.allSatisfy(\.isOver.isSet) }
    }

    @Test("After the signal was set, no wait begins and a handler is called immediately")
    func afterwards() async throws {
        signal.set()
        let wait = Wait(for: signal)
        try await eventually("the wait is over") { wait.isOver.isSet }
        let isCalled = Flag()
        signal.onSet { isCalled.set() }
        #expect(isCalled.isSet)
    }

    @Test("A handler is called once when the signal is set")
    func handler() {
        let calls = Atomic(0)
        signal.onSet { calls.add(1, ordering: .relaxed) }
        #expect(calls.load(ordering: .relaxed) == 0)
        signal.set()
        signal.set()
        #expect(calls.load(ordering: .relaxed) == 1)
    }

    @Test("A wait ends with its time, or when its task is cancelled")
    func otherEnds() async throws {
        let start = ContinuousClock.now
        let (short, long) = (Wait(for: signal, atMost: .milliseconds(20)), Wait(for: signal))
        try await eventually("the short wait is over") { short.isOver.isSet }
        #expect(.now - start >= .milliseconds(20))
        #expect(!long.isOver.isSet)
        long.task.cancel()
        try await eventually("the cancelled wait is over") { long.isOver.isSet }
        #expect(!signal.isSet)
    }
}
