import Brocot
import Foundation
import SeededRandom
import TestLimit
import TestPostgres
import Testing

@Suite("Pages of a list", .database, .usualTimeLimit)
struct LibraryPageTests {
    @Test("Pages of any length follow each other in order, and the last page has no next cursor")
    func pages() async throws {
        let fixture = try await LibraryFixture()
        let items = ["a", "b", "c", "d", "e", "f"]
        try await fixture.client.place(items, .last, in: "list")
        try await fixture.client.place(["other"], .last, in: "other list")
        for limit in [1, 3, 5, 6, 7, 100] {
            var read: [[String]] = []
            var cursor: ListCursor?
            repeat {
                let page = try await fixture.client.page(of: "list", after: cursor, limit: limit)
                read.append(page.items)
                cursor = page.next
            } while cursor != nil && read.count <= items.count
            #expect(read.flatMap { $0 } == items, "pages of \(limit)")
            #expect(read.count == (items.count + limit - 1) / limit, "pages of \(limit)")
        }
    }

    @Test("A list that does not exist has an empty page")
    func emptyList() async throws {
        let page = try await LibraryFixture().client.page(of: "nowhere")
        #expect(page.items == [])
        #expect(page.next == nil)
    }

    @Test("A cursor that is sent as text or JSON keeps its exact place between very close ranks")
    func exactCursor() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.client.place(["a", "b"], .last, in: "list")
        // Each item goes between the two newest items, so the terms grow as fast as possible.
        for number in 0..<80 {
            let placement: Placement =
                number == 0
                ? .after("a") : number % 2 == 0 ? .after("\(number - 1)") : .before("\(number - 1)")
            try await fixture.client.place(["\(number)"], placement, in: "list")
        }
        let all = try await fixture.items(of: "list")
        var read: [String] = []
        var cursor: ListCursor?
        repeat {
            let page = try await fixture.client.page(of: "list", after: cursor, limit: 1)
            read += page.items
            cursor = try page.next.map { next in
                let sent = try #require(ListCursor(next.description))
                return try JSONDecoder().decode(ListCursor.self, from: JSONEncoder().encode(sent))
            }
        } while cursor != nil
        #expect(read == all)
    }

    @Test(
        "Text that is no finite decimal number is no cursor",
        arguments: [
            "", "1e5", "NaN", "Infinity", "-Infinity", "1; DROP", "--1", String(repeating: "1", count: 101),
        ])
    func noCursor(text: String) {
        #expect(ListCursor(text) == nil)
    }

    @Test("A page can begin after any entry, also after an entry that was removed")
    func afterEntry() async throws {
        let fixture = try await LibraryFixture()
        try await fixture.client.place(["a", "b", "c"], .last, in: "list")
        let entries = try await fixture.client.page(of: "list").entries
        try await fixture.client.remove(["b"], from: "list")
        #expect(try await fixture.client.page(of: "list", after: entries[0].cursor).items == ["c"])
        #expect(try await fixture.client.page(of: "list", after: entries[1].cursor).items == ["c"])
    }

    @Test("Items that stay are read once each and in order while other items move")
    func whileItemsMove() async throws {
        let fixture = try await LibraryFixture()
        let client = fixture.client
        let (staying, moving) = ((0..<200).map { "stays \($0)" }, (0..<20).map { "moves \($0)" })
        try await client.place(staying, .last, in: "list")
        try await client.place(moving, .first, in: "list")
        let mover = Task {
            var random = SeededGenerator(for: "LibraryPageTests")
            var moves = 0
            while !Task.isCancelled {
                let anchor = staying.randomElement(using: &random) ?? ""
                do {
                    try await client.place(
                        moving.shuffled(using: &random).suffix(3), .after(anchor), in: "list")
                    moves += 1
                } catch let error as BrocotError where [.cancelled, .commitOutcomeUnknown].contains(error.code) {
                    break
                }
            }
            return moves
        }
        for _ in 0..<10 {
            var read: [String] = []
            var cursor: ListCursor?
            repeat {
                let page = try await client.page(of: "list", after: cursor, limit: 7)
                read += page.items
                cursor = page.next
            } while cursor != nil
            #expect(read.filter { $0.hasPrefix("stays") } == staying)
        }
        mover.cancel()
        #expect(try await mover.value(until: "the cancelled mover ended") > 0)
    }

    @Test("A page with a length below 1 or above 10,000 is refused") func limits() async throws {
        let client = try await LibraryFixture().client
        for limit in [0, -1, 10_001] {
            let code = await failureCode { _ = try await client.page(of: "list", limit: limit) }
            #expect(code == .invalidArgument, "\(limit)")
        }
    }

    @Test("A transaction reads the result of its own moves")
    func inTransaction() async throws {
        let fixture = try await LibraryFixture()
        let items = try await fixture.client.transaction { transaction in
            try transaction.place(["a", "b"], .last, in: "list")
            try transaction.place(["b"], .first, in: "list")
            return try transaction.page(of: "list").items
        }
        #expect(items == ["b", "a"])
    }
}
