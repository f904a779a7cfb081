import Testing

@testable import Daemon

@Suite("What the server refuses to a listener", .timeLimit(.minutes(30))) struct RefusalBackoffTests {
    private let start = ContinuousClock.now

    @Test("is tried again less and less often, down to every 1.5 s, also where something else is done in between")
    func pauses() {
        var refusals = RefusalBackoff()
        var now = start
        var pauses: [Duration] = []
        for _ in 0..<10 {
            pauses.append(refusals.note(at: now))
            now += pauses[pauses.count - 1]
            let areOver = refusals.areOver(at: now)
            #expect(!areOver)
        }
        #expect(pauses[0] <= .milliseconds(100))
        for pause in pauses.suffix(5) { #expect(pause >= .milliseconds(750) && pause <= .milliseconds(1_500)) }
    }

    @Test("is over once, when nothing was refused for 3 s, and begins with a short pause then")
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
        refusals.areOver(at: start + duration)
    }
}
