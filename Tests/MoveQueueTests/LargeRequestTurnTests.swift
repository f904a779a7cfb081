import MoveQueue
import Testing

@Suite("The turn with large requests", .timeLimit(.minutes(10))) struct LargeRequestTurnTests {
    @Test("is one worker's at a time")
    func oneAtATime() {
        let turn = LargeRequestTurn()
        #expect(turn.take())
        #expect(!turn.take())
        turn.giveBack(wasUsed: false)
        #expect(turn.take())
    }

    @Test("leaves a batch to smaller requests after it was used")
    func rests() {
        let turn = LargeRequestTurn()
        #expect(turn.take())
        turn.giveBack(wasUsed: true)
        #expect(!turn.take())
        #expect(turn.take())
    }
}
