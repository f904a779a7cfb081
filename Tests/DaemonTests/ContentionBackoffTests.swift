import Testing

@testable import Daemon

@Suite("A worker that found lists locked", .timeLimit(.minutes(10))) struct ContentionBackoffTests {
    @Test("pauses as long as it tried, and twice as long each time")
    func doubles() {
        var yielding = ContentionBackoff()
        for doubling in 0..<4 {
            let due = Duration.milliseconds(30) * (1 << doubling)
            #expect((due / 2...due).contains(yielding.pause(after: .milliseconds(30))))
        }
        yielding.reset()
        #expect(yielding.pause(after: .milliseconds(30)) <= .milliseconds(30))
    }

    @Test("pauses for 2 ms at the least, and for 5 s at the most")
    func bounds() {
        var yielding = ContentionBackoff()
        #expect((.milliseconds(1) ... .milliseconds(2)).contains(yielding.pause(after: .zero)))
        for _ in 0..<20 { _ = yielding.pause(after: .zero) }
        #expect(yielding.pause(after: .zero) <= .milliseconds(256))
        #expect((.milliseconds(2_500) ... .seconds(5)).contains(yielding.pause(after: .seconds(1))))
    }
}
