import Foundation
import LibPQ
import Ordering
import Synchronization
import TestLimit
import TestPostgres
import Testing

@Suite("Import into a list", .database, .usualTimeLimit)
struct ListImportTests {
    private struct NoInput: Error {}

    @Test("An import into a table that attach or a repair has not finished is refused") func beingFilled() async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("UPDATE brocot.ordered_tables SET being_filled = true")
        let isRead = Flag()
        let result = try await connection.run { connection in
            try ListImport.run(
                into: ListIdentifier("l"),
                reading: {
                    defer { isRead.set() }
                    return isRead.isSet ? [] : Array("a\n".utf8)
                }, on: connection)
        }
        guard case .failure(.refused(let rejection)) = result else {
            Issue.record("it was not refused: \(result)")
            return
        }
        #expect(
            rejection.message == """
                brocot attach or brocot check --repair of items is not finished. If neither runs now, brocot check says what to do
                """)
        #expect(try await connection.query("SELECT FROM brocot.items").isEmpty)
    }

    @Test("An import waits for its input longer than the role's idle_session_timeout") func slowInput() async throws {
        let connection = try await TestDatabase.current.connect()
        let isRead = Flag()
        let result = try await connection.run { connection in
            try connection.execute(script: "SET idle_session_timeout = '100ms'")
            return try ListImport.run(
                into: ListIdentifier("l"),
                reading: {
                    defer { isRead.set() }
                    // Longer than the server's limit.
                    Thread.sleep(forTimeInterval: 0.2)
                    return isRead.isSet ? [] : Array("a\n".utf8)
                }, on: connection)
        }
        #expect(try result.get() == 1)
    }

    @Test("An import locks the list only after the first piece of its input") func waitsForInput() async throws {
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; SELECT pg_advisory_xact_lock(brocot.list_lock_key('items', 'l'))")
        let connection = try await TestDatabase.current.connect()
        // With the lock first, the import would end with a lock time-out.
        await #expect(throws: NoInput.self) {
            try await connection.run { connection in
                try ListImport.run(into: ListIdentifier("l"), reading: { throw NoInput() }, on: connection)
            }
        }
    }

    /// Imports a text in pieces into list l. After the last piece, reading fails with `failure`; with nil, the text ends.
    private func importing(
        _ pieces: [String], then failure: NoInput? = nil, on connection: Connection
    ) async throws -> Result<Int, ImportRefusal> {
        let rest = Mutex(pieces[...])
        return try await connection.run { connection in
            try ListImport.run(
                into: ListIdentifier("l"),
                reading: {
                    if let piece = rest.withLock({ $0.popFirst() }) { return Array(piece.utf8) }
                    if let failure { throw failure }
                    return []
                }, on: connection)
        }
    }

    private func items(_ connection: Connection) async throws -> [String] {
        try await connection.query("SELECT item FROM brocot.items WHERE list = 'l' ORDER BY rank")
            .map { try $0.decode(0) }
    }

    @Test("An import waits for the list's lock, and then appends to what the list has") func waitsForLock() async throws
    {
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; SELECT brocot.move_now('l', 'x', last => true)")
        let connection = try await TestDatabase.current.connect()
        async let result = importing(["1\n"], on: connection)
        try await TestDatabase.current.waitUntilBlocked(connection, by: holder)
        try await holder.execute(script: "SELECT brocot.move_now('l', 'y', last => true); COMMIT")
        #expect(try await result.get() == 1)
        #expect(try await items(connection) == ["x", "y", "1"])
    }

    @Test("An import inserts the lines of all pieces of its input in their order") func pieces() async throws {
        let connection = try await TestDatabase.current.connect()
        #expect(try await importing(["1\n2", "0\n", "3\n4"], on: connection).get() == 4)
        #expect(try await items(connection) == ["1", "20", "3", "4"])
    }

    @Test("An import whose input can't be read to its end inserts nothing") func readError() async throws {
        let connection = try await TestDatabase.current.connect()
        await #expect(throws: NoInput.self) { try await importing(["1\n", "2\n"], then: NoInput(), on: connection) }
        #expect(try await items(connection) == [])
    }
}
