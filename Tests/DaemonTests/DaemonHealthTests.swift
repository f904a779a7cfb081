import TestLimit
import Testing

@testable import Daemon

@Suite("Health of the daemon", .usualTimeLimit) struct DaemonHealthTests {
    private let health = DaemonHealth()

    @Test("The daemon is not ready before its loops start, and no loop is stalled")
    func notStarted() {
        #expect(health.reasonNotReady == "not started yet")
        #expect(health.stalled(longerThan: .zero).isEmpty)
        health.note(reasonNotStarted: "the server is away")
        #expect(health.reasonNotReady == "not started yet: the server is away")
    }

    @Test("The daemon is ready when the listener and at least one worker are connected")
    func readiness() {
        let listener = health.loop("the listener", .listener)
        let workers = (1...2).map { health.loop("worker \($0)", .worker) }
        #expect(health.reasonNotReady == "the listener: not connected yet")
        listener.noteConnection()
        #expect(health.reasonNotReady == "worker 1: not connected yet")
        workers[1].noteConnection()
        #expect(health.reasonNotReady == nil)
        workers[1].noteLostConnection("the server is away")
        #expect(health.reasonNotReady == "worker 1: not connected yet")
        workers[0].noteConnection()
        #expect(health.reasonNotReady == nil)
    }

    @Test("The daemon is not ready while its database can't be used, and names the reason")
    func unfitDatabase() {
        let listener = health.loop("the listener", .listener)
        health.loop("worker 1", .worker).noteConnection()
        listener.noteConnection(reasonNotReady: "the server is a standby")
        #expect(health.reasonNotReady == "the listener: the server is a standby")
        listener.note(reasonNotReady: nil)
        #expect(health.reasonNotReady == nil)
        listener.noteEnd()
        #expect(health.reasonNotReady == "the listener: stopped")
    }

    @Test("The daemon is not ready while one of several workers waits for a synchronous standby")
    func standby() {
        health.loop("the listener", .listener).noteConnection()
        let workers = (1...2).map { health.loop("worker \($0)", .worker) }
        for worker in workers { worker.noteConnection() }
        workers[1].noteWaitForStandby("COMMIT waits")
        #expect(health.reasonNotReady == "worker 2: COMMIT waits")
        workers[1].noteConnection()
        #expect(health.reasonNotReady == nil)
        workers[1].noteWaitForStandby("COMMIT waits")
        workers[1].noteLostConnection("the server is away")
        #expect(health.reasonNotReady == nil)
    }

    @Test("A loop is stalled if one turn takes longer than the limit, and a loop that waits is not stalled")
    func stalledLoops() {
        let busy = health.loop("worker 1", .worker)
        let waiting = health.loop("worker 2", .worker)
        busy.noteProgress()
        waiting.noteWait()
        #expect(health.stalled(longerThan: .seconds(300)).isEmpty)
        let later = ContinuousClock.now + .seconds(301)
        #expect(health.stalled(longerThan: .seconds(300), at: later) == ["worker 1 has made no progress for 301 s"])
        busy.noteWait()
        #expect(health.stalled(longerThan: .seconds(300), at: later).isEmpty)
    }

    @Test("A loop is not stalled during an outage of the server, nor after its end")
    func outage() {
        let (worker, listener) = (health.loop("worker 1", .worker), health.loop("the listener", .listener))
        let later = ContinuousClock.now + .seconds(3_600)
        worker.noteProgress()
        worker.noteLostConnection("the server is away")
        listener.noteProgress()
        listener.noteEnd()
        #expect(health.stalled(longerThan: .seconds(300), at: later).isEmpty)
    }

    @Test("The listener is told once that somebody asked for the readiness")
    func question() {
        let listener = health.loop("the listener", .listener)
        #expect(!listener.wasAskedSinceLastCall())
        #expect(health.askForReasonNotReady() == health.reasonNotReady)
        #expect(listener.wasAskedSinceLastCall())
        #expect(!listener.wasAskedSinceLastCall())
    }
}
