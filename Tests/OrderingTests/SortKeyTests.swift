import LibPQ
import SeededRandom
import SternBrocot
import TestLimit
import TestPostgres
import Testing

@Suite("Sort order of the column rank", .database, .usualTimeLimit)
struct SortKeyTests {
    /// The order that the database gives to ranks that are inserted in random order.
    private func sorted(_ ranks: [Rank]) async throws -> [Rank] {
        let connection = try await TestDatabase.current.connect()
        var generator = SeededGenerator(for: "SortKeyTests")
        let shuffled = ranks.shuffled(using: &generator)
        try await connection.execute(
            """
            INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
            SELECT 'l', number::text, num, den, brocot.rank_of(num, den)
            FROM unnest(\(shuffled.map(\.numerator)), \(shuffled.map(\.denominator))) WITH ORDINALITY AS r (num, den, number)
            """)
        return try await connection.query("SELECT rank_num, rank_den FROM brocot.items ORDER BY rank").map { row in
            try #require(Rank(numerator: row.decode(0, as: Int64.self), denominator: row.decode(1, as: Int64.self)))
        }
    }

    /// A rank and the closest one with terms below the limit.
    private func neighbours(below limit: Int64, sign: Int64, _ generator: inout SeededGenerator) -> [Rank] {
        var (a, b, c, d): (Int64, Int64, Int64, Int64) = (0, 1, 1, 0)
        while b + d < limit, a + c < limit {
            if Bool.random(using: &generator) { (a, b) = (a + c, b + d) } else { (c, d) = (a + c, b + d) }
        }
        return [(a, b), (c, d)].compactMap { Rank(numerator: sign * $0.0, denominator: $0.1) }
    }

    @Test("The column rank sorts neighbours with terms of 62 bits like the exact fractions", arguments: [1, -1])
    func closeNeighbours(sign: Int64) async throws {
        var ranks: Set<Rank> = []
        var generator = SeededGenerator(for: "SortKeyTests")
        for _ in 0..<2_000 { ranks.formUnion(neighbours(below: Rank.limit, sign: sign, &generator)) }
        #expect(try await sorted(Array(ranks)) == ranks.sorted())
    }

    @Test("The column rank sorts ranks that are one step apart at the largest terms like the exact fractions")
    func singleStep() async throws {
        let largest = Rank.limit - 1
        let ranks = [
            (-largest, 1), (-largest + 1, 1), (-1, 1), (-(largest - 1), largest), (-1, largest), (0, 1), (1, largest),
            (1, largest - 1), (largest - 2, largest - 1), (largest - 1, largest), (1, 1), (largest, largest - 1),
            (largest - 1, 1), (largest, 1),
        ].compactMap { Rank(numerator: $0.0, denominator: $0.1) }
        #expect(ranks.count == 14)
        #expect(try await sorted(ranks) == ranks.sorted())
    }
}
