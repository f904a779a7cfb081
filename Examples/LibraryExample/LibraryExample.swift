import Brocot

/// A shopping list, kept in order by a server: `swift run LibraryExample postgresql://user@host/database`.
@main
struct LibraryExample {
    static func main() async throws {
        let client = try await BrocotClient.connect(CommandLine.arguments.dropFirst().first)

        // At once, each call in a separate transaction.
        try await client.place(["bread", "milk", "eggs", "tea"], .last, in: "groceries")
        try await client.place(["butter"], .after("bread"), in: "groceries")
        // The offsets of SwiftUI's onMove: bread and milk go before the item at offset 4.
        try await client.move(fromOffsets: [0, 2], toOffset: 4, in: "groceries")
        print("groceries:", try await client.page(of: "groceries").items)

        // Together with your own statements. All lists that the transaction changes are locked first.
        let count = try await client.transaction { transaction in
            try transaction.lock(["groceries", "basket"])
            try transaction.execute("CREATE TEMPORARY TABLE prices (item text, cents bigint) ON COMMIT DROP")
            try transaction.execute("INSERT INTO prices VALUES (\("milk"), \(129)), (\("eggs"), \(349))")
            let affordable = try transaction.query("SELECT item FROM prices WHERE cents < \(300)")
            let items = try affordable.map { row in try row.decode("item", as: String.self) }
            try transaction.place(items, .first, in: "basket", from: "groceries")
            return items.count
        }
        print("moved to the basket:", count)

        // A move that the data doesn't allow is rejected, and changes nothing.
        do {
            try await client.place(["jam"], .before("honey"), in: "groceries")
        } catch let rejection as Rejection where rejection.code == .anchorNotFound {
            print("rejected:", rejection.message)
        }

        // Through the queue: the request is stored, and the daemon applies it later. If an app gets no answer and repeats
        // the call with the same key, that is not a second request.
        let key = "tap \(UInt64.random(in: 0 ... .max))"
        let request = try await client.enqueuePlace(["jam"], .at(1), in: "groceries", idempotencyKey: key)
        do {
            print("request:", try await client.outcome(of: request, within: .seconds(5)))
        } catch let error as BrocotError where error.code == .stillPending {
            print("request: still pending. Start `brocot daemon`, and it will be applied.")
        }

        // A page at a time. A cursor is text that a client can send back.
        var cursor: ListCursor?
        repeat {
            let page = try await client.page(of: "groceries", after: cursor, limit: 2)
            print("page:", page.items)
            cursor = page.next
        } while cursor != nil

        try await client.remove(["bread", "butter", "jam", "eggs", "tea"], from: "groceries")
        try await client.remove(["milk"], from: "basket")
        await client.close()
    }
}
