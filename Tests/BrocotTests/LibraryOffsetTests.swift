import Brocot
import Foundation
import OrderingModel
import SeededRandom
import TestLimit
import TestPostgres
import Testing

/// `Array.move(fromOffsets:toOffset:)` as SwiftUI documents it. The result has the unmoved elements before the
/// destination, then the moved elements, then the other unmoved elements.
private func moved(_ items: [String], fromOffsets offsets: IndexSet, toOffset destination: Int) -> [String] {
    let staying = items.indices.filter { !offsets.contains($0) }
    return staying.filter { $0 < destination }.map { items[$0] } + offsets.map { items[$0] }
        + staying.filter { $0 >= destination }.map { items[$0] }
}

@Suite("Moves by offsets, as in SwiftUI's onMove", .usualTimeLimit)
struct LibraryOffsetTests {
    @Test("A move by an IndexSet gives the same order as onMove", .database)
    func randomMoves() async throws {
        let seed = SeededGenerator.seed(for: "LibraryOffsetTests")
        var generator = SeededGenerator(seed: seed)
        let fixture = try await LibraryFixture()
        var model = (0..<12).map { "item \($0)" }
        try await fixture.client.place(model, .last, in: "list")
        for _ in 0..<300 {
            let count = Int.random(in: 1...6, using: &generator)
            let offsets = IndexSet(model.indices.shuffled(using: &generator).prefix(count))
            let destination = Int.random(in: 0...model.count, using: &generator)
            model = moved(model, fromOffsets: offsets, toOffset: destination)
            try await fixture.client.move(fromOffsets: offsets, toOffset: destination, in: "list")
            try #require(try await fixture.items(of: "list") == model, "seed \(seed)")
        }
    }

    @Test("A placement from onMove is right for every subset and destination in a list of four")
    func placements() {
        let items = ["a", "b", "c", "d"]
        for subset in 1..<16 {
            let offsets = IndexSet(items.indices.filter { subset & 1 << $0 != 0 })
            for destination in 0...items.count {
                var model = ListModel(ownsRows: true)
                _ = model.apply(.init(list: "l", items: items, action: .place(.last)))
                let placement = Placement.onMove(fromOffsets: offsets, toOffset: destination)
                _ = model.apply(.init(list: "l", items: offsets.map { items[$0] }, action: .place(placement)))
                #expect(model.lists["l"]?.placed == moved(items, fromOffsets: offsets, toOffset: destination))
            }
        }
    }

    @Test("A destination beyond the end means the end", .database)
    func beyondTheEnd() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.client.place(["a", "b", "c"], .last, in: "list")
        try await fixture.client.move(fromOffsets: [0], toOffset: 99, in: "list")
        #expect(try await fixture.items(of: "list") == ["b", "c", "a"])
    }

    @Test("A placement from onMove with a negative destination is an invalid argument of each call", .database)
    func negativeDestination() async throws {
        let fixture = try await LibraryFixture()
        let client = fixture.client
        try await client.place(["a", "b", "c"], .last, in: "list")
        let placement = Placement.onMove(fromOffsets: [1], toOffset: -1)
        #expect(await failureCode { try await client.place(["b"], placement, in: "list") } == .invalidArgument)
        #expect(
            await failureCode { _ = try await client.enqueuePlace(["b"], placement, in: "list") } == .invalidArgument)
        #expect(try await fixture.items(of: "list") == ["a", "b", "c"])
    }

    @Test("A move without offsets does nothing", .database)
    func noOffsets() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.client.move(fromOffsets: IndexSet(), toOffset: 0, in: "list")
        #expect(try await fixture.items(of: "list") == [])
    }

    @Test(
        "An offset beyond the end is rejected with itemNotFound, and a negative offset is an invalid argument",
        .database)
    func wrongOffsets() async throws {
        let fixture = try await LibraryFixture()
        let client = fixture.client
        try await client.place(["a", "b", "c"], .last, in: "list")
        #expect(
            await rejectionCode { try await client.move(fromOffsets: [0, 3], toOffset: 1, in: "list") }
                == .itemNotFound)
        #expect(
            await failureCode { try await client.move(fromOffsets: [-1], toOffset: 1, in: "list") }
                == .invalidArgument)
        #expect(
            await failureCode { try await client.move(fromOffsets: [1], toOffset: -1, in: "list") }
                == .invalidArgument)
        #expect(try await fixture.items(of: "list") == ["a", "b", "c"])
    }

    @Test("Offsets do not count unplaced rows", .database)
    func unplacedRows() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.attachCards([(1, 7), (2, 7), (3, 7), (4, 7)])
        let list = ListIdentifier("7", of: "public.cards")
        try await fixture.client.place(["4", "2", "3"], .last, in: list)
        try await fixture.client.move(fromOffsets: [2], toOffset: 1, in: list)
        #expect(try await fixture.client.page(of: list).items == ["4", "3", "2"])
    }
}
