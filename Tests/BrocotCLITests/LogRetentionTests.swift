import Foundation
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Pruning of the log by age", .database, .usualTimeLimit) struct LogRetentionTests {
    @Test("A daemon prunes the log by the given age, with the idempotency keys of the requests") func daemonPrunes()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await LoggedRequests.insert(agesInDays: [9, 8, 5, 3, 0], on: connection)
        try await RunningBrocot.withDaemon(["--log-retention", "4"], until: "pruned the log") { _ in }
        #expect(try await LoggedRequests.ids(on: connection) == [4, 5])
        #expect(try await connection.query("SELECT FROM brocot.idempotency_keys").count == 2)
    }

    @Test("A daemon that drains the queue prunes the log at its end, unless it is kept for ever")
    func drainPrunes() async throws {
        let connection = try await TestDatabase.current.connect()
        try await LoggedRequests.insert(agesInDays: [9, 8, 5, 3, 0], on: connection)
        #expect(try await BrocotProcess.run("daemon", "--drain", "--log-retention", "0").exitCode == 0)
        #expect(try await LoggedRequests.ids(on: connection) == [1, 2, 3, 4, 5])
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 0)
        #expect(try await LoggedRequests.ids(on: connection) == [3, 4, 5])
        // Requests that wait for a person don't keep the log from being pruned.
        try await connection.execute("SELECT brocot.pause('items', 'a'), brocot.move('a', 'x', first => true)")
        #expect(try await BrocotProcess.run("daemon", "--drain", "--log-retention", "4").exitCode == 7)
        #expect(try await LoggedRequests.ids(on: connection) == [4, 5])
        #expect(try await connection.query("SELECT FROM brocot.idempotency_keys").count == 2)
    }

    @Test("The documented statement deletes the same requests as a daemon, with their idempotency keys")
    func statement() async throws {
        let connection = try await TestDatabase.current.connect()
        try await LoggedRequests.insert(agesInDays: [9, 8, 5, 3, 0], on: connection)
        let statements = try Repository.statements(
            ofSection: "How long things are kept", in: "docs/operations.md")
        try await connection.execute(script: try #require(statements.first))
        #expect(try await LoggedRequests.ids(on: connection) == [3, 4, 5])
        #expect(try await connection.query("SELECT FROM brocot.idempotency_keys").count == 3)
    }

    @Test("A daemon with --log-retention 0 prunes nothing, however old it is")
    func keepsForEver() async throws {
        let connection = try await TestDatabase.current.connect()
        try await LoggedRequests.insert(agesInDays: [20_000, 9, 0], on: connection)
        try await connection.execute("SELECT setval('brocot.move_requests_id_seq', 3)")
        try await RunningBrocot.withDaemon(["--log-retention", "0"]) { _ in
            // A daemon that prunes begins with that at its start, before it has decided several requests.
            for number in Int64(4)...8 {
                try await connection.execute("SELECT brocot.move('l', \(String(number)), last => true)")
                try await expectApplied(number, on: connection)
            }
        }
        #expect(try await LoggedRequests.ids(on: connection) == [1, 2, 3])
    }
}
