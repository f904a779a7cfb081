import SternBrocot
import TestLimit
import Testing

@testable import Ordering

@Suite("Position index", .usualTimeLimit) struct PositionIndexTests {
    private func rank(_ numerator: Int64) throws -> Rank { try #require(Rank(numerator: numerator, denominator: 1)) }

    @Test("A position index counts a moved row at its new place, and not where the row is stored") func movedRow()
        throws
    {
        var index = PositionIndex()
        index.add(rank: try rank(500), storedPosition: 500)
        index.replace(try rank(0), with: try rank(1_000), stored: try rank(0))
        #expect(index.nearest(toStored: 500)?.storedPosition == 500)
        #expect(index.shift(before: try rank(500)) == -1)
        #expect(index.shift(before: nil) == 0, "the row is still before the end")
    }

    @Test("A position index counts a returned row as if the row had never moved") func returnedRow() throws {
        var index = PositionIndex()
        index.replace(try rank(0), with: try rank(1_000), stored: try rank(0))
        index.replace(try rank(1_000), with: nil, stored: try rank(0))
        #expect(index.shift(before: nil) == -1)
        index.replace(nil, with: try rank(0), stored: try rank(0))
        #expect(index.shift(before: try rank(1)) == 0 && index.shift(before: nil) == 0)
    }

    @Test("A position index counts rows that were unplaced before") func placedRows() throws {
        var index = PositionIndex()
        for numerator: Int64 in 1...3 { index.replace(nil, with: try rank(numerator), stored: nil) }
        #expect(index.shift(before: try rank(2)) == 1)
        #expect(index.shift(before: try rank(3)) == 2)
        #expect(index.shift(before: nil) == 3)
    }

    @Test("A position index finds the nearest known position, below or above") func nearest() throws {
        var index = PositionIndex()
        #expect(index.nearest(toStored: 0) == nil)
        index.add(rank: nil, storedPosition: 1_000)
        index.add(rank: try rank(7), storedPosition: 100)
        #expect(index.nearest(toStored: 0)?.storedPosition == 100)
        #expect(index.nearest(toStored: 549)?.storedPosition == 100)
        #expect(index.nearest(toStored: 551)?.storedPosition == 1_000)
        #expect(index.nearest(toStored: 5_000)?.rank == nil)
    }

    @Test("A position index keeps the smallest known limit of a list's length") func length() {
        var index = PositionIndex()
        index.limitStoredLength(to: 20)
        index.limitStoredLength(to: 10)
        index.limitStoredLength(to: 30)
        #expect(index.storedLengthLimit == 10)
    }
}
