import MoveQueue
import Testing

@Suite("The share of a batch that is taken on", .timeLimit(.minutes(30))) struct BatchShareTests {
    @Test("halves with each failure, and doubles with each success")
    func halvesAndDoubles() {
        var share = BatchShare()
        #expect(share.divisor == 1)
        for _ in 0..<3 { share.noteFailure() }
        #expect(share.divisor == 8)
        share.noteSuccess()
        #expect(share.divisor == 4)
    }

    @Test("is small after a start, and whole after a few successes")
    func start() {
        var share = BatchShare.atStart
        #expect(share.divisor == 16)
        for _ in 0..<4 { share.noteSuccess() }
        #expect(share.divisor == 1)
    }

    @Test("stays within a whole batch and a single request")
    func bounds() {
        var share = BatchShare()
        share.noteSuccess()
        #expect(share.divisor == 1)
        for _ in 0..<100 { share.noteFailure() }
        #expect(share.divisor == 4_096)
    }
}
