import Testing

@testable import Daemon

@Suite("Pauses after refusals by the server", .timeLimit(.minutes(30))) struct RefusalBackoffTests {
    private let start = ContinuousClock.now

    @Test("The pauses after refusals grow up to 1.5 s")
    func pauses() {
        var refusals = RefusalBackoff()
        var now = start
        var pauses: [Duration] = []
        for _ in 0..<10 {
            pauses.append(refusals.note(at: now))
            now += pauses[pauses.count - 1]
            let areOver = refusals.noteSuccess(at: now)
            #expect(!areOver)
        }
        #expect(pauses[0] <= .milliseconds(100))
        for pause in pauses.suffix(5) { #expect(pause >= .milliseconds(750) && pause <= .milliseconds(1_500)) }
    }

    @Test("Refusals are over after 3 s without a refusal, and a later refusal begins with a short pause")
    func over() {
        var refusals = RefusalBackoff()
        #expect(areOver(&refusals, after: .zero) == false)
        for _ in 0..<10 { _ = refusals.note(at: start) }
        #expect(refusals.areGoingOn)
        #expect(areOver(&refusals, after: .milliseconds(2_999)) == false)
        #expect(areOver(&refusals, after: .seconds(3)) == true)
        #expect(!refusals.areGoingOn)
        #expect(areOver(&refusals, after: .seconds(4)) == false)
        let pause = refusals.note(at: start + .seconds(5))
        #expect(pause <= .milliseconds(100))
    }

    /// #expect calls no mutating method.
    private func areOver(_ refusals: inout RefusalBackoff, after duration: Duration) -> Bool {
        refusals.noteSuccess(at: start + duration)
    }
}
