import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Brocot

@Suite("Connections of a client", .usualTimeLimit)
struct LibraryConnectionTests {
    /// How many sessions there are besides the observer.
    private func connections() async throws -> Int {
        let rows = try await TestDatabase.current.observer.query(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
            """)
        return try rows[0].decode(0)
    }

    @Test("Connections are opened as needed up to the limit, and used again", .database)
    func limit() async throws {
        let client = try await BrocotClient.connect(
            TestDatabase.current.url, maximumConnections: 3, logger: .silent)
        #expect(try await connections() == 1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask { try await client.place(["\(number)"], .last, in: ListIdentifier("\(number % 7)")) }
            }
            try await group.waitForAll()
        }
        #expect((1...3).contains(try await connections()))
        #expect(try await client.page(of: "0").items.count == 9)
        await client.close()
    }

    @Test("A task that is cancelled while it waits for a connection leaves the queue", .database)
    func cancelledWait() async throws {
        let fixture = try await LibraryFixture(maximumConnections: 1)
        let client = fixture.client
        try await fixture.connection.execute("SELECT pg_advisory_lock(brocot.list_lock_key('items', 'list'))")
        let first = Task { try await client.place(["a"], .last, in: "list") }
        try await fixture.waitForWaiter()
        let second = Task { await failureCode { try await client.place(["b"], .last, in: "other") } }
        try await eventually("the second task waits for a connection", read: { client.pool.waitingCount }) { $0 == 1 }
        second.cancel()
        #expect(try await second.value(until: "the cancelled call ended") == .cancelled)
        try await fixture.connection.execute("SELECT pg_advisory_unlock_all()")
        try await first.value(until: "the first call ended")
        #expect(try await fixture.items(of: "list") == ["a"])
        #expect(try await fixture.items(of: "other") == [])
    }

    @Test(
        "A task that is cancelled while it waits for a list's lock rolls back, and its connection stays usable",
        .database)
    func cancelledLock() async throws {
        let fixture = try await LibraryFixture(maximumConnections: 1)
        let client = fixture.client
        try await fixture.connection.execute("SELECT pg_advisory_lock(brocot.list_lock_key('items', 'list'))")
        let waiting = Task { await failureCode { try await client.place(["a"], .last, in: "list") } }
        try await fixture.waitForWaiter()
        waiting.cancel()
        #expect(try await waiting.value(until: "the cancelled call ended") == .cancelled)
        try await client.place(["b"], .last, in: "other")
        #expect(try await fixture.items(of: "other") == ["b"])
    }

    @Test("Connections that the server closed while idle are replaced", .database)
    func replaced() async throws {
        let fixture = try await LibraryFixture()
        let client = fixture.client
        try await client.place(["a"], .last, in: "list")
        for _ in 0..<3 {
            let terminated = try await fixture.connection.query(
                """
                SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
                """)
            #expect(terminated.count == 1)
            try await client.place(["b"], .first, in: "list")
        }
        #expect(try await fixture.items(of: "list") == ["b", "a"])
    }

    @Test("A closed client has no connections, and refuses later calls", .database)
    func closed() async throws {
        let client = try await BrocotClient.connect(TestDatabase.current.url, logger: .silent)
        await client.close()
        #expect(await failureCode { _ = try await client.page(of: "list") } == .clientClosed)
        try await eventually("no connection is open", read: { try await connections() }, until: { $0 == 0 })
    }

    @Test("A missing server is reported as a failed connection, without the password")
    func noServer() async throws {
        let error = await #expect(throws: BrocotError.self) {
            try await BrocotClient.connect("postgresql://somebody:hidden@127.0.0.1:1/nowhere")
        }
        #expect(error?.code == .connectionFailed)
        #expect("\(String(reflecting: error))".contains("hidden") == false)
    }

    @Test("A database without Brocot's schema is reported as schemaMissing", .database(migrated: false))
    func noSchema() async throws {
        let error = await #expect(throws: BrocotError.self) {
            try await BrocotClient.connect(TestDatabase.current.url)
        }
        #expect(error?.code == .schemaMissing)
        #expect(error?.message.contains("brocot migrate up") == true)
    }

    @Test("localizedDescription says what happened, for errors and rejections alike")
    func localizedDescription() {
        let error: any Error = BrocotError(.misuse, "the transaction has ended")
        #expect(error.localizedDescription == "misuse: the transaction has ended")
        let rejection: any Error = Rejection(.anchorNotFound, "'b' is not in the list")
        #expect(rejection.localizedDescription == "anchor_not_found: 'b' is not in the list")
    }

    @Test("An invalid URL is refused, and so are a maximum of 0 connections and an answer time-out of zero")
    func invalidArguments() async throws {
        #expect(await failureCode { _ = try await BrocotClient.connect("http://localhost") } == .invalidArgument)
        #expect(
            await failureCode { _ = try await BrocotClient.connect(maximumConnections: 0) } == .invalidArgument)
        #expect(
            await failureCode { _ = try await BrocotClient.connect(maximumConnections: 201) } == .invalidArgument)
        #expect(await failureCode { _ = try await BrocotClient.connect(answerTimeout: .zero) } == .invalidArgument)
    }
}
