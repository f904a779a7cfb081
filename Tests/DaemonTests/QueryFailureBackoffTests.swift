import TestLimit
import Testing

@testable import Daemon

@Suite("Pauses after failed queries", .usualTimeLimit) struct QueryFailureBackoffTests {
    private let start = ContinuousClock.now

    @Test("The pauses after failed queries grow up to 1.5 s")
    func pauses() {
        var failures = QueryFailureBackoff()
        var now = start
        var pauses: [Duration] = []
        for _ in 0..<10 {
            pauses.append(failures.note(at: now))
            now += pauses[pauses.count - 1]
            let areOver = failures.noteSuccess(at: now)
            #expect(!areOver)
        }
        #expect(pauses[0] <= .milliseconds(100))
        for pause in pauses.suffix(5) { #expect(pause >= .milliseconds(750) && pause <= .milliseconds(1_500)) }
    }

    @Test("Failures are over after 3 s without one, and a later failure begins with a short pause")
    func over() {
        var failures = QueryFailureBackoff()
        #expect(areOver(&failures, after: .zero) == false)
        for _ in 0..<10 { _ = failures.note(at: start) }
        #expect(failures.areGoingOn)
        #expect(areOver(&failures, after: .milliseconds(2_999)) == false)
        #expect(areOver(&failures, after: .seconds(3)) == true)
        #expect(!failures.areGoingOn)
        #expect(areOver(&failures, after: .seconds(4)) == false)
        let pause = failures.note(at: start + .seconds(5))
        #expect(pause <= .milliseconds(100))
    }

    /// #expect calls no mutating method.
    private func areOver(_ failures: inout QueryFailureBackoff, after duration: Duration) -> Bool {
        failures.noteSuccess(at: start + duration)
    }
}
