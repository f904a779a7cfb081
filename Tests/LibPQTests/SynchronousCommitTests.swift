import FaultHarness
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite(
    "COMMIT that waits for a synchronous standby",
    .database(migrated: false, on: .withMissingStandby), .usualTimeLimit)
struct SynchronousCommitTests {
    private func insert(on connection: Connection, isSingleStatement: Bool) async throws {
        let insert: SQL = "INSERT INTO numbers VALUES (1)"
        try await connection.run { connection in
            if isSingleStatement {
                _ = try connection.transaction(of: insert)
            } else {
                _ = try connection.transaction { connection in try connection.execute(insert) }
            }
        }
    }

    private func makeTable() async throws {
        try await connect().execute("CREATE TABLE numbers (number bigint)")
    }

    /// Waits until the session waits for the standby.
    private func waitUntilCommitWaits(_ process: Int32) async throws {
        let observer = try await TestDatabase.current.observer
        try await eventually("COMMIT waits for the standby") {
            try await observer.query("SELECT wait_event FROM pg_stat_activity WHERE pid = \(process)")
                .map { try $0.decode(0, as: String?.self) }
        } until: {
            $0 == ["SyncRep"]
        }
    }

    @Test("A cancelled task does not end the wait, and is told that the outcome is unknown", arguments: [true, false])
    func cancelledTask(isSingleStatement: Bool)
        async throws
    {
        try await makeTable()
        let connection = try await connect { $0["options"] = "-c synchronous_commit=on" }
        let process = connection.backendProcessIdentifier
        let task = Task {
            try await postgresError { try await insert(on: connection, isSingleStatement: isSingleStatement) }
        }
        try await waitUntilCommitWaits(process)
        let start = ContinuousClock.now
        task.cancel()
        let error = try await task.value(until: "the cancelled COMMIT ended")
        #expect(error.code == .commitOutcomeUnknown && error.isConnectionLost)
        #expect(start.duration(to: .now) < .seconds(30))
        try await waitUntilCommitWaits(process)
    }

    @Test("A cancellation that reaches COMMIT instead of the single statement before it makes the outcome unknown")
    func cancelsCommit()
        async throws
    {
        try await makeTable()
        let (connection, proxy) = try await connectThroughProxy { $0["options"] = "-c synchronous_commit=on" }
        defer { proxy.close() }
        // The answer to the statement is held back too. So the client believes that it cancels the statement.
        let answer = proxy.nextStop(.beforeAnswer) { $0.text == "COMMIT" }
        let task = Task { try await postgresError { try await insert(on: connection, isSingleStatement: true) } }
        try await waitUntilCommitWaits(connection.backendProcessIdentifier)
        task.cancel()
        try #require(await answer.reached(within: .seconds(60))).proceed()
        #expect(try await task.value(until: "the cancelled COMMIT ended").code == .commitOutcomeUnknown)
    }
}
