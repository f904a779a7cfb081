import Brocot
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Requests through the library", .database, .usualTimeLimit)
struct LibraryQueueTests {
    @Test("A caller can wait for a request's outcome, and gets the reason of a rejection")
    func outcomes() async throws {
        let fixture = try await LibraryFixture()
        let client = fixture.client
        try await fixture.refuseItem("poison")
        try await LibraryFixture.withDaemon {
            let placed = try await client.enqueuePlace(["a", "b", "c"], .last, in: "list")
            #expect(try await client.outcome(of: placed) == .applied(rebalancedRows: 0))
            let removed = try await client.enqueueRemove(["b"], from: "list")
            #expect(try await client.outcome(of: removed) == .applied(rebalancedRows: 0))
            let moved = try await client.enqueuePlace(["c"], .before("a"), in: "list")
            #expect(try await client.outcome(of: moved) == .applied(rebalancedRows: 0))
            let changed = try await client.enqueuePlace(["a"], .at(0), in: "other", from: "list")
            #expect(try await client.outcome(of: changed) == .applied(rebalancedRows: 0))
            #expect(try await fixture.items(of: "list") == ["c"])
            #expect(try await fixture.items(of: "other") == ["a"])

            let lost = try await client.enqueuePlace(["a"], .after("z"), in: "list")
            guard case .rejected(let rejection) = try await client.outcome(of: lost) else {
                Issue.record("it was applied")
                return
            }
            #expect(rejection.code == .anchorNotFound)
            #expect(rejection.message.contains("'z'"))
            let refused = try await client.enqueuePlace(["poison"], .last, in: "list")
            guard case .rejected(let failure) = try await client.outcome(of: refused) else {
                Issue.record("it was applied")
                return
            }
            #expect(failure.code == .failed)
            #expect(failure.sqlState == "P0042")
        }
    }

    @Test("A second request with the same idempotency key returns the first request")
    func idempotencyKey() async throws {
        let fixture = try await LibraryFixture()
        let first = try await fixture.client.enqueuePlace(["a"], .last, in: "list", idempotencyKey: "once")
        let second = try await fixture.client.enqueuePlace(["a"], .last, in: "list", idempotencyKey: "once")
        let other = try await fixture.client.enqueueRemove(["a"], from: "list", idempotencyKey: "twice")
        #expect(first == second)
        #expect(other != first)
        #expect(try await fixture.connection.query("SELECT FROM brocot.move_requests").count == 2)
    }

    @Test(
        "An idempotency key outside of 1 to 1,024 bytes is refused",
        arguments: ["", String(repeating: "k", count: 1025)])
    func invalidIdempotencyKey(key: String) async throws {
        let client = try await LibraryFixture().client
        #expect(
            await failureCode { _ = try await client.enqueueRemove(["a"], from: "list", idempotencyKey: key) }
                == .invalidArgument)
    }

    @Test("A request exists only after its transaction commits")
    func transactional() async throws {
        let fixture = try await LibraryFixture()
        struct Abandoned: Error {}
        await #expect(throws: Abandoned.self) {
            try await fixture.client.transaction { transaction in
                _ = try transaction.enqueuePlace(["a"], .last, in: "list")
                throw Abandoned()
            }
        }
        #expect(try await fixture.connection.query("SELECT FROM brocot.move_requests").isEmpty)
        let request = try await fixture.client.transaction { transaction in
            try transaction.enqueuePlace(["a"], .last, in: "list")
        }
        let pending = try await fixture.connection.query("SELECT id FROM brocot.move_requests")
        #expect(try pending.map { try $0.decode(0, as: Int64.self) } == [request])
    }

    @Test("A wait without a daemon ends in time, and the request stays pending")
    func stillPending() async throws {
        let fixture = try await LibraryFixture()
        let request = try await fixture.client.enqueuePlace(["a"], .last, in: "list")
        for limit in [Duration.zero, .milliseconds(60)] {
            let start = ContinuousClock.now
            let code = await failureCode { _ = try await fixture.client.outcome(of: request, within: limit) }
            #expect(code == .stillPending)
            #expect(ContinuousClock.now - start >= limit)
        }
        #expect(try await fixture.connection.query("SELECT FROM brocot.move_requests").count == 1)
    }

    @Test("A request that nobody made is unknown")
    func unknownRequest() async throws {
        let client = try await LibraryFixture().client
        #expect(await failureCode { _ = try await client.outcome(of: 4711) } == .unknownRequest)
    }

    @Test(
        "On a standby, an outcome is waited for until the time is over, because the request may still arrive",
        .databaseOnStandby)
    func requestIsNotOnStandby() async throws {
        let client = try await BrocotClient.connect(TestDatabase.current.url, logger: .silent)
        let start = ContinuousClock.now
        let error = await #expect(throws: BrocotError.self) {
            _ = try await client.outcome(of: 4711, within: .milliseconds(60))
        }
        #expect(ContinuousClock.now - start >= .milliseconds(60))
        #expect(error?.code == .unknownRequest)
        #expect(error?.message.contains("not on this standby") == true)
    }

    @Test("A cancelled task stops waiting for an outcome")
    func cancelledWait() async throws {
        let client = try await LibraryFixture().client
        let request = try await client.enqueuePlace(["a"], .last, in: "list")
        let waiting = Task { await failureCode { _ = try await client.outcome(of: request, within: .seconds(60)) } }
        let observer = try await TestDatabase.current.observer
        try await eventually("the outcome is asked for") {
            try await !observer.query(
                """
                SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%request_status%'
                """
            ).isEmpty
        }
        waiting.cancel()
        #expect(try await waiting.value(until: "the cancelled call ended") == .cancelled)
    }
}
