import Synchronization
import TestPostgres
import Testing

@testable import Daemon

@Suite("The signal that stops the daemon's tasks", .timeLimit(.minutes(30))) struct StopSignalTests {
    private let signal = StopSignal()

    /// Begins a wait of a day, in a task of its own.
    private func wait() -> (task: Task<Void, Never>, isOver: Flag) {
        let isOver = Flag()
        let task = Task { [signal] in
            await signal.wait(atMost: .seconds(86_400))
            isOver.set()
        }
        return (task, isOver)
    }

    @Test("All waits end when the signal is set")
    func set() async throws {
        let waits = [wait(), wait()]
        defer { for wait in waits { wait.task.cancel() } }
        // The waits begin meanwhile.
        try await Task.sleep(for: .milliseconds(50))
        signal.set()
        try await eventually("both waits are over") { waits.allSatisfy(\.isOver.isSet) }
    }

    @Test("After the signal was set, no wait begins and a handler is called immediately")
    func afterwards() async {
        signal.set()
        await signal.wait(atMost: .seconds(86_400))
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
    func otherEnds() async {
        await signal.wait(atMost: .milliseconds(1))
        let (task, _) = wait()
        task.cancel()
        await task.value
        #expect(!signal.isSet)
    }
}
