import TestLimit
import Testing

@testable import MoveQueue

@Suite("States of a worker's round", .usualTimeLimit) struct RoundStateTests {
    @Test(
        "A worker that was woken does not read the queue first, unless it was woken in vain before",
        arguments: [
            (WakeUpState.awake, true, WakeUpState.awake), (.woken, true, .awake), (.idle, false, .woken),
            (.wokenInVain, true, .woken),
        ])
    func beginsTurn(before: WakeUpState, mayRead: Bool, after: WakeUpState) {
        var wakeUpState = before
        let result = wakeUpState.beginTurn()
        #expect(result == mayRead)
        #expect(wakeUpState == after)
    }

    @Test(
        "A worker counts as woken in vain if the turn after the wake-up finds nothing",
        arguments: [(WakeUpState.awake, WakeUpState.idle), (.woken, .wokenInVain)])
    func endsInVain(before: WakeUpState, after: WakeUpState) {
        var wakeUpState = before
        wakeUpState.endInVain()
        #expect(wakeUpState == after)
    }

    @Test(
        "Batches of the oldest requests take turns with batches of the round, and the last one follows the round",
        arguments: [
            (Entanglement.none, false, Entanglement.none), (.oldestNext, true, .roundNext),
            (.roundNext, false, .roundNext), (.oldestLast, true, .none),
        ])
    func beginsOldest(before: Entanglement, isTurn: Bool, after: Entanglement) {
        var entanglement = before
        let result = entanglement.beginOldest()
        #expect(result == isTurn)
        #expect(entanglement == after)
    }

    @Test(
        "After the end of a round, one more batch of the oldest requests follows, and no further ones",
        arguments: [(Entanglement.none, Entanglement.none), (.oldestNext, .oldestLast), (.roundNext, .oldestLast)])
    func endsRound(before: Entanglement, after: Entanglement) {
        var entanglement = before
        entanglement.endRound()
        #expect(entanglement == after)
    }
}
