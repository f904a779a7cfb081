import Ordering
import TestLimit
import Testing

@Suite("Groups of connected lists", .usualTimeLimit) struct ConnectedListsTests {
    private func move(to list: String, from source: String? = nil) -> Move {
        Move(list: ListIdentifier(list), items: ["x"], action: .place(.last, from: source))
    }

    private func groups(_ moves: Move...) -> [Set<String>] {
        ConnectedLists(of: moves).groups.map { Set($0.map(\.key)) }
    }

    @Test("Each list is a group of its own if no item changes its list")
    func separate() {
        #expect(groups(move(to: "a"), move(to: "b"), move(to: "a")) == [["a"], ["b"]])
    }

    @Test("Changes of list join their lists into one group, in any order of the moves")
    func connected() {
        #expect(groups(move(to: "a", from: "b"), move(to: "c", from: "b"), move(to: "d")) == [["a", "b", "c"], ["d"]])
        #expect(groups(move(to: "a"), move(to: "b"), move(to: "c"), move(to: "c", from: "a")) == [["a", "c"], ["b"]])
        #expect(
            groups(move(to: "a", from: "b"), move(to: "c", from: "d"), move(to: "e"), move(to: "d", from: "a"))
                == [["a", "b", "c", "d"], ["e"]])
    }

    @Test("Each list is assigned the number of its group")
    func numbers() {
        let connected = ConnectedLists(of: [move(to: "a"), move(to: "b"), move(to: "c", from: "a")])
        for (number, group) in connected.groups.enumerated() {
            for list in group { #expect(connected.groupIndices[list] == number) }
        }
        #expect(connected.groupIndices.count == 3)
    }
}
