import MoveQueue
import TestLimit
import Testing

@Suite("Share of a batch", .usualTimeLimit) struct BatchShareTests {
    @Test("The share of a batch halves with each failure and doubles with each success")
    func halvesAndDoubles() {
        var share = BatchShare()
        #expect(share.divisor == 1)
        for _ in 0..<3 { share.noteFailure() }
        #expect(share.divisor == 8)
        share.noteSuccess()
        #expect(share.divisor == 4)
    }

    @Test("The share of a batch that is halved from the start is the one after as many failures")
    func halvings() {
        var share = BatchShare()
        share.noteFailure()
        share.noteFailure()
        #expect(BatchShare(halvings: 2) == share)
    }

    @Test("The share of a batch is small after a start, and whole after four successes")
    func start() {
        var share = BatchShare.atStart
        #expect(share.divisor == 16)
        for _ in 0..<4 { share.noteSuccess() }
        #expect(share.divisor == 1)
    }

    @Test("The share of a batch stays between a small minimum and the whole batch")
    func bounds() {
        var share = BatchShare()
        share.noteSuccess()
        #expect(share.divisor == 1)
        for _ in 0..<100 { share.noteFailure() }
        #expect(share.divisor == 4_096)
        #expect(BatchShare(halvings: 100) == share)
    }
}
