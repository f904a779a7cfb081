import Foundation
import LibPQ
import OrderingModel
import SeededRandom
import SternBrocot
import TestLimit
import TestPostgres
import Testing

@testable import Ordering

@Suite("Functions for ranks in SQL", .commonMigratedDatabase, .usualTimeLimit)
struct RankFunctionTests {
    /// How many random gaps are compared: BROCOT_RANK_GAPS.
    private static let gaps = ProcessInfo.processInfo.environment["BROCOT_RANK_GAPS"].flatMap(Int.init) ?? 20_000
    private static let gapsPerStatement = 5_000

    // MARK: Published cases

    @Test("rank_between gives the published results")
    func publishedBetween() async throws {
        let connection = try await TestDatabase.current.connect()
        let rows = try await copy("between.tsv", columns: 6, on: connection)
        #expect(rows == 2_000)
        let differing = try await connection.query(
            """
            SELECT row_to_json(vector)::text || ' gave ' || coalesce(got.num || '/' || got.den, 'nothing')
            FROM vector, brocot.rank_between(c1::bigint, c2::bigint, c3::bigint, c4::bigint) AS got
            WHERE (got.num, got.den) IS DISTINCT FROM CASE
                WHEN abs(c5::numeric) < 2::numeric ^ 62 AND c6::numeric < 2::numeric ^ 62 THEN (c5::bigint, c6::bigint)
                ELSE (NULL::bigint, NULL::bigint) END
            """)
        #expect(try differing.map { try $0.decode(0, as: String.self) } == [])
    }

    @Test("rank_spread gives the published results")
    func publishedSpread() async throws {
        let connection = try await TestDatabase.current.connect()
        let rows = try await copy("spread.tsv", columns: 6, on: connection)
        #expect(rows == 400)
        let differing = try await connection.query(
            """
            SELECT row_to_json(vector)::text || ' gave ' || coalesce(got.ranks, 'nothing')
            FROM vector
            CROSS JOIN LATERAL (
                SELECT string_agg(spread.num || '/' || spread.den, ' ' ORDER BY spread.number) AS ranks
                FROM brocot.rank_spread(c1::integer, c2::bigint, c3::bigint, c4::bigint, c5::bigint)
                    WITH ORDINALITY AS spread (num, den, number)
            ) AS got
            CROSS JOIN LATERAL (
                SELECT bool_and(abs(split_part(rank, '/', 1)::numeric) < 2::numeric ^ 62
                    AND split_part(rank, '/', 2)::numeric < 2::numeric ^ 62) AS fits
                FROM string_to_table(c6, ' ') AS rank
            ) AS expected
            WHERE got.ranks IS DISTINCT FROM CASE WHEN expected.fits THEN c6 END
            """)
        #expect(try differing.map { try $0.decode(0, as: String.self) } == [])
    }

    /// Copies a file of cases into the temporary table `vector`, and returns how many there are.
    private func copy(_ file: String, columns: Int, on connection: Connection) async throws -> Int {
        let rows = try Repository.text(of: "Tests/SternBrocotTests/Vectors/\(file)").split(separator: "\n").dropFirst()
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map { Optional(String($0)) } }
        let names = (1...columns).map { "c\($0) text" }.joined(separator: ", ")
        try await connection.execute(script: "CREATE TEMPORARY TABLE vector (\(names))")
        return try await connection.run { connection in try connection.copyIn("COPY vector FROM STDIN", rows: rows) }
    }

    // MARK: Random gaps

    @Test("rank_between gives the library's ranks in random gaps and at the ends of lists")
    func randomBetween() async throws {
        let connection = try await TestDatabase.current.connect()
        var random = RandomGaps(seed: SeededGenerator.seed(for: "rank_between in \(Self.gaps) gaps"))
        for first in stride(from: 0, to: Self.gaps, by: Self.gapsPerStatement) {
            let gaps = (first..<min(first + Self.gapsPerStatement, Self.gaps)).map { _ in random.next() }
            let rows = try await connection.query(
                """
                SELECT got.num, got.den
                FROM unnest(\(gaps.map(\.lower?.numerator)), \(gaps.map(\.lower?.denominator)),
                    \(gaps.map(\.upper?.numerator)), \(gaps.map(\.upper?.denominator)))
                    WITH ORDINALITY AS gap (lower_num, lower_den, upper_num, upper_den, number)
                CROSS JOIN LATERAL brocot.rank_between(lower_num, lower_den, upper_num, upper_den) AS got
                ORDER BY gap.number
                """)
            try #require(rows.count == gaps.count)
            for (gap, row) in zip(gaps, rows) {
                let expected = Rank.between(gap.lower, gap.upper)
                try #require(row.decode(0, as: Int64?.self) == expected?.numerator, "seed \(random.seed), \(gap)")
                try #require(row.decode(1, as: Int64?.self) == expected?.denominator, "seed \(random.seed), \(gap)")
            }
        }
    }

    @Test("rank_spread gives the library's ranks in random gaps and at the ends of lists")
    func randomSpread() async throws {
        let connection = try await TestDatabase.current.connect()
        let count = Self.gaps / 40
        var random = RandomGaps(seed: SeededGenerator.seed(for: "rank_spread in \(count) gaps"))
        for _ in 0..<count {
            let (gap, size) = (random.next(), random.nextCount())
            let rows = try await connection.query(
                """
                SELECT num, den
                FROM brocot.rank_spread(\(size)::integer, \(gap.lower?.numerator as Int64?), \(gap.lower?.denominator as Int64?),
                    \(gap.upper?.numerator as Int64?), \(gap.upper?.denominator as Int64?))
                """)
            let ranks = try rows.map { row in
                Rank(numerator: try row.decode(0, as: Int64.self), denominator: try row.decode(1, as: Int64.self))
            }
            // Without room in the gap there are no rows.
            let expected = Rank.spread(size, between: gap.lower, and: gap.upper)
            try #require(ranks == expected ?? [], "seed \(random.seed), \(size) in \(gap)")
        }
    }

    @Test("ranks_one_after_the_other gives the library's ranks in random gaps and at the ends of lists")
    func randomBlocks() async throws {
        let connection = try await TestDatabase.current.connect()
        let count = Self.gaps / 40
        var random = RandomGaps(seed: SeededGenerator.seed(for: "ranks_one_after_the_other in \(count) gaps"))
        for _ in 0..<count {
            let (gap, size) = (random.next(), random.nextCount())
            let row = try await connection.query(
                """
                SELECT nums, dens
                FROM brocot.ranks_one_after_the_other(\(size)::integer, \(gap.lower?.numerator as Int64?),
                    \(gap.lower?.denominator as Int64?), \(gap.upper?.numerator as Int64?), \(gap.upper?.denominator as Int64?))
                """
            ).single()
            let (nums, dens) = try (row.decode(0, as: [Int64]?.self), row.decode(1, as: [Int64]?.self))
            // There is no row for 0 items, or if there is no room.
            let expected =
                size == 0 ? nil : OpenInterval(gap.lower, gap.upper).oneAfterTheOther(size, limit: Rank.limit)
            try #require(nums == expected?.map(\.numerator), "seed \(random.seed), \(size) in \(gap)")
            try #require(dens == expected?.map(\.denominator), "seed \(random.seed), \(size) in \(gap)")
        }
    }

    // MARK: What is no gap

    /// The ends, and the message.
    private static let noGaps = [
        ("1, 2, 1, 2", "the lower end 1/2 is not less than the upper end 1/2"),
        ("2, 1, -3, 1", "the lower end 2/1 is not less than the upper end -3/1"),
        ("-3, 1, -4, 1", "the lower end -3/1 is not less than the upper end -4/1"),
        ("NULL, 5, 1, 2", "-1/5 and 1/2 are not the ends of a gap"),
        ("NULL, 5, 0, 1", "-1/5 and 0/1 are not the ends of a gap"),
        ("1, 2, 3, NULL", "1/2 and 3/0 are not the ends of a gap"),
        ("1, 0, 1, 1", "1/0 and 1/1 are not the ends of a gap"),
        ("1, 1, -1, 0", "1/1 and -1/0 are not the ends of a gap"),
        ("1, 1, 5, -1", "1/1 and 5/-1 are not the ends of a gap"),
        ("4611686018427387904, 1, NULL, NULL", "4611686018427387904/1 and 1/0 are not the ends of a gap"),
        (
            "5000000000, 1, 1, 5000000000",
            "the lower end 5000000000/1 is not less than the upper end 1/5000000000"
        ),
        (
            "-9223372036854775808, 9223372036854775807, 0, 1",
            "-9223372036854775808/9223372036854775807 and 0/1 are not the ends of a gap"
        ),
    ]

    @Test("The functions for ranks refuse arguments that are not a gap")
    func noGap() async throws {
        let connection = try await TestDatabase.current.connect()
        for (ends, message) in Self.noGaps {
            for call in ["brocot.rank_between(\(ends))", "brocot.rank_spread(3, \(ends))"] {
                let error = await connection.refusal(of: "SELECT \(unsafeRaw: call)")
                #expect(error?.sqlState == SQLState(rawValue: "22023"), "\(call)")
                #expect(error?.message == message, "\(call)")
            }
        }
    }

    @Test("NULL stands for an end of the list in the functions for ranks") func endsOfTheList() async throws {
        let connection = try await TestDatabase.current.connect()
        for (lower, upper) in [("NULL, NULL", "NULL, NULL"), ("-1, 0", "1, 0")] {
            let row = try await connection.query(
                """
                SELECT brocot.rank_between(\(unsafeRaw: lower), \(unsafeRaw: upper))::text,
                    brocot.rank_between(7, 2, \(unsafeRaw: upper))::text,
                    brocot.rank_between(\(unsafeRaw: lower), 7, 2)::text,
                    (SELECT string_agg(num || '/' || den, ' ') FROM brocot.rank_spread(2, 7, 2, \(unsafeRaw: upper)))
                """
            ).single()
            let texts = try (0..<4).map { try row.decode($0, as: String.self) }
            #expect(texts == ["(0,1)", "(4,1)", "(0,1)", "4/1 5/1"], "\(lower), \(upper)")
        }
    }
}

/// Gaps of every kind: wide, narrow, with terms of up to 62 bits, and some at an end of the list.
private struct RandomGaps {
    struct Gap: CustomStringConvertible {
        let lower: Rank?
        let upper: Rank?

        var description: String { "\(lower?.description ?? "-1/0") to \(upper?.description ?? "1/0")" }
    }

    let seed: UInt64
    private var generator: SeededGenerator

    init(seed: UInt64) {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
    }

    mutating func nextCount() -> Int {
        Int.random(in: 0...([1, 5, 40].randomElement(using: &generator) ?? 1), using: &generator)
    }

    mutating func next() -> Gap {
        while true {
            let first = rank()
            var second = rank()
            // Each step goes one level down in the tree, so narrow gaps occur as often as wide ones.
            for _ in 0..<Int.random(in: 0...1, using: &generator) * Int.random(in: 1...60, using: &generator) {
                guard first != second, let middle = Rank.between(min(first, second), max(first, second)) else { break }
                second = middle
            }
            guard first != second else { continue }
            switch Int.random(in: 0..<10, using: &generator) {
            case 0: return Gap(lower: nil, upper: first)
            case 1: return Gap(lower: first, upper: nil)
            default: return Gap(lower: min(first, second), upper: max(first, second))
            }
        }
    }

    private mutating func rank() -> Rank {
        while true {
            let numerator = Int64(bits()) * (Bool.random(using: &generator) ? 1 : -1)
            if let rank = Rank(numerator: numerator, denominator: Int64(bits())) { return rank }
        }
    }

    private mutating func bits() -> UInt64 { generator.next() >> UInt64.random(in: 2...63, using: &generator) }
}
