import MoveQueue
import Ordering
import Testing

@Suite("A worker whose lists fail one by one", .timeLimit(.minutes(10))) struct DetourTests {
    private func list(_ number: Int) -> ListIdentifier { ListIdentifier(orderedTable: "cards", list: "\(number)") }

    @Test("tries some of the next ones at once, pauses then, and goes on behind the table or anywhere, in turn")
    func manyLists() {
        var detour = Detour()
        let steps = (0..<16).map { detour.noteFailure(of: list($0)) }
        let pauses = steps.indices.filter { steps[$0].isPauseDue }
        #expect(pauses == [7, 15])
        #expect(steps[0].continuation == .behindList(list(0)))
        #expect(steps[7].continuation == .behindTable("cards"))
        #expect(steps[15].continuation == .anywhere)
    }

    @Test("pauses where it meets the same one again")
    func oneList() {
        var detour = Detour()
        let pauses = (0..<4).map { _ in detour.noteFailure(of: list(1)).isPauseDue }
        #expect(pauses == [false, true, false, true])
    }

    @Test("pauses, and goes anywhere, where it can't tell which failed")
    func unknown() {
        var detour = Detour()
        let step = detour.noteFailure(of: nil)
        #expect(step.continuation == .anywhere && step.isPauseDue)
    }
}
