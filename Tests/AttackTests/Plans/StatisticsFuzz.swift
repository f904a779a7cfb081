import LibPQ
import Ordering
import OrderingModel
import SeededRandom

/// A random history of `brocot.items`: its contents, and when VACUUM and ANALYZE saw them.
struct StatisticsFuzz {
    private var generator: SeededGenerator
    private var nextList = 0
    /// The statements so far, for the message of a failure.
    private(set) var history: [String] = []

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// The lists at the end, and the number of items of each. The items are named by numbers, which are also their
    /// ranks.
    private(set) var lists: [(name: String, items: Int)] = []

    /// Fills and empties the table, with VACUUM and ANALYZE at random moments. At least one long list is left.
    mutating func run(on connection: Connection) async throws(PostgresError) {
        try await perform("TRUNCATE brocot.items", on: connection)
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            for statement in step() { try await perform(statement, on: connection) }
        }
        try await perform(fill(lists: 1, items: 3_000), on: connection)
        if Bool.random(using: &generator) { try await perform(fill(lists: 10_000, items: 1), on: connection) }
        if Bool.random(using: &generator) { try await perform(maintenance(), on: connection) }
    }

    private mutating func perform(_ statement: String, on connection: Connection) async throws(PostgresError) {
        history.append(statement)
        try await connection.execute(script: statement)
    }

    private mutating func step() -> [String] {
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: return [fill(lists: 1, items: Int.random(in: 1...5, using: &generator)), maintenance()]
        case 1: return [fill(lists: 10_000, items: 1), maintenance()]
        case 2: return [fill(lists: 30, items: 100)]
        case 3: return [fill(lists: 1, items: 3_000)]
        default:
            let filling = fill(lists: 1, items: 3_000)
            lists = []
            return [filling, "DELETE FROM brocot.items", maintenance()]
        }
    }

    private mutating func maintenance() -> String {
        let all = [
            "ANALYZE brocot.items", "VACUUM brocot.items", "VACUUM (TRUNCATE off) brocot.items",
            "VACUUM (ANALYZE, TRUNCATE off) brocot.items", "VACUUM (ANALYZE, INDEX_CLEANUP off) brocot.items",
        ]
        return all.randomElement(using: &generator) ?? all[0]
    }

    private mutating func fill(lists count: Int, items: Int) -> String {
        let first = nextList
        nextList += count
        if items > 1 || count < 100 { lists += (first..<nextList).map { ("l\($0)", items) } }
        return """
            INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
            SELECT 'l' || l, n::text, n, 1, n
            FROM generate_series(\(first), \(nextList - 1)) AS l, generate_series(1, \(items)) AS n
            """
    }

    /// Moves of single items. None of them has a position, because that would read a list.
    mutating func moves(_ count: Int) -> [Move] {
        (0..<count).map { _ in
            let (list, items) = lists.randomElement(using: &generator) ?? ("l0", 1)
            func item() -> String { String(Int.random(in: 1...items, using: &generator)) }
            let moved = item()
            let action: Move.Action =
                switch Int.random(in: 0..<10, using: &generator) {
                case 0: .remove
                case 1: .place(.first, from: nil)
                case 2: .place(.last, from: nil)
                case 3:
                    .place(
                        .last,
                        from: lists.randomElement(using: &generator).map(\.name).flatMap { $0 == list ? nil : $0 })
                case 4, 5, 6: .place(.before(item()), from: nil)
                default: .place(.after(item()), from: nil)
                }
            return Move(
                list: ListIdentifier(orderedTable: "items", key: list), items: [moved], action: action)
        }
    }
}
