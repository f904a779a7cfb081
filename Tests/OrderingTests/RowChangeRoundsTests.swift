import Testing

@testable import Ordering

@Suite("Updates of rows", .timeLimit(.minutes(30))) struct RowChangeRoundsTests {
    private func rounds(_ ways: String...) -> [[String]] {
        let changes = ways.map { way in
            let parts = way.split(separator: " ").map(String.init)
            return RowChange(key: parts[0], storedList: parts[1], list: parts[2], rank: nil)
        }
        return RowChangeRounds(changes).rounds.map { round in
            round.map { "\($0.key) \($0.storedList ?? "") \($0.list ?? "")" }
        }
    }

    @Test("go together where no row goes where another with its key is") func together() {
        #expect(rounds("x a b", "y b a", "z a a") == [["x a b", "y b a", "z a a"]])
    }

    @Test("wait until a row with the same key has left the list") func chain() {
        #expect(rounds("x a b", "x c d", "x b c") == [["x c d"], ["x b c"], ["x a b"]])
    }

    @Test("stay together where rows go round in a circle") func circle() {
        #expect(rounds("x a b", "x b a", "y a b") == [["y a b"], ["x a b", "x b a"]])
    }
}
