import TestLimit
import Testing

@testable import Ordering

@Suite("Groups of row updates", .usualTimeLimit) struct RowChangeGroupsTests {
    private func groups(_ ways: String...) -> [[String]] {
        let changes = ways.map { way in
            let parts = way.split(separator: " ").map(String.init)
            return RowChange(key: parts[0], storedList: parts[1], list: parts[2], rank: nil)
        }
        return RowChangeGroups(changes).groups.map { group in
            group.map { "\($0.key) \($0.storedList ?? "") \($0.list ?? "")" }
        }
    }

    @Test("Updates share one group if no row enters a list that holds another row with the same key") func together() {
        #expect(groups("x a b", "y b a", "z a a") == [["x a b", "y b a", "z a a"]])
    }

    @Test("An update waits for a later group until the row with the same key has left the list") func chain() {
        #expect(groups("x a b", "x c d", "x b c") == [["x c d"], ["x b c"], ["x a b"]])
    }

    @Test("Updates stay in one group if rows with the same key change lists in a circle") func circle() {
        #expect(groups("x a b", "x b a", "y a b") == [["y a b"], ["x a b", "x b a"]])
    }
}
