import Ordering
import SeededRandom

/// Random moves of every kind, many of them wrong.
package struct RandomMoves {
    var generator: SeededGenerator
    let orderedTable: String
    let lists: [String]
    let items: [String]
    /// The most items in one move.
    let longestBlock: Int
    /// Of a hundred moves, how many take items from another list: at most 88.
    let changesOfList: Int
    /// Of a hundred moves, how many insert no item that is missing.
    let rejectingMissing: Int
    /// Of a hundred moves, how many place rows that have no rank: at most 12.
    let arriving: Int

    package init(
        generator: SeededGenerator, orderedTable: String, lists: [String], items: [String], longestBlock: Int,
        changesOfList: Int = 30, rejectingMissing: Int = 0, arriving: Int = 0
    ) {
        self.arriving = arriving
        self.generator = generator
        self.orderedTable = orderedTable
        self.lists = lists
        self.items = items
        self.longestBlock = longestBlock
        self.changesOfList = changesOfList
        self.rejectingMissing = rejectingMissing
    }

    package mutating func next() -> Move {
        let list = lists.randomElement(using: &generator) ?? ""
        let count =
            Int.random(in: 0..<4, using: &generator) > 0 ? 1 : Int.random(in: 1...longestBlock, using: &generator)
        let chosen = Array(items.shuffled(using: &generator).prefix(count))
        return Move(
            list: ListIdentifier(orderedTable: orderedTable, key: list), items: chosen,
            action: action(in: list), missing: missing())
    }

    private mutating func missing() -> MissingItems {
        guard rejectingMissing > 0 else { return .insert }
        return Int.random(in: 0..<100, using: &generator) < rejectingMissing ? .reject : .insert
    }

    private mutating func action(in list: String) -> Move.Action {
        let kind = Int.random(in: 0..<100, using: &generator)
        guard kind >= arriving else { return .arrive }
        guard kind >= 12 else { return .remove }
        let anchor = items.randomElement(using: &generator) ?? ""
        let placement: Placement =
            switch kind % 5 {
            case 0: .first
            case 1: .last
            case 2: .before(anchor)
            case 3: .after(anchor)
            default: .at(Int.random(in: 0...(items.count + 3), using: &generator))
            }
        let source = kind >= 100 - changesOfList ? lists.filter { $0 != list }.randomElement(using: &generator) : nil
        return .place(placement, from: source)
    }
}
