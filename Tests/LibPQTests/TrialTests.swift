import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Trials", .commonDatabase, .usualTimeLimit) struct TrialTests {
    /// Tries groups in a transaction that has inserted the number 0, and returns what is in the table afterwards.
    private func tryOut(
        _ groups: [[SQL]], on connection: Connection
    ) async throws -> (outcomes: [Result<[Rows], PostgresError>], numbers: [Int64]) {
        try await connection.execute(script: "CREATE TEMPORARY TABLE numbers (number bigint UNIQUE)")
        return try await connection.run { connection in
            try connection.transaction { connection in
                try connection.execute("INSERT INTO numbers VALUES (0)")
                let outcomes = try connection.tryOut(groups.map { Trial($0) })
                let rows = try connection.query("SELECT number FROM numbers ORDER BY number")
                return (outcomes, try rows.map { try $0.decode(0) })
            }
        }
    }

    private func insert(_ number: Int64) -> SQL { "INSERT INTO numbers VALUES (\(number)) RETURNING number" }

    private func sqlState(of outcome: Result<[Rows], PostgresError>) -> SQLState? {
        if case .failure(let error) = outcome { error.sqlState } else { nil }
    }

    @Test("Each group of a trial returns its rows or its error, and all groups are undone") func groupsAreUndone()
        async throws
    {
        let connection = try await connect()
        let (outcomes, numbers) = try await tryOut(
            [[insert(1), insert(2)], [insert(3), insert(0), insert(4)], [], [insert(1)]], on: connection)
        #expect(try outcomes[0].get().map { try $0.single().decode(0, as: Int64.self) } == [1, 2])
        #expect(sqlState(of: outcomes[1]) == .uniqueViolation)
        #expect(try outcomes[2].get().isEmpty)
        #expect(try outcomes[3].get().map { try $0.single().decode(0, as: Int64.self) } == [1])
        #expect(numbers == [0])
        #expect(await connection.transactionStatus == .idle)
    }

    @Test("Settings of a group end with the group") func settingsEndWithGroup() async throws {
        let connection = try await connect()
        let show: SQL = "SELECT current_setting('lock_timeout')"
        let (outcomes, _) = try await tryOut([["SET LOCAL lock_timeout = '7ms'", show], [show]], on: connection)
        #expect(try outcomes[0].get()[1].single().decode(0) == "7ms")
        #expect(try outcomes[1].get()[0].single().decode(0) == "0")
    }

    @Test("A trial that is larger than the socket's buffers succeeds") func largeTrial() async throws {
        let connection = try await connect()
        let text = String(repeating: "x", count: 100_000)
        let (outcomes, _) = try await tryOut((0..<200).map { _ in ["SELECT \(text)"] }, on: connection)
        #expect(outcomes.count == 200)
        for outcome in outcomes { #expect(try outcome.get()[0].single().decode(0) == text) }
    }

    @Test("A statement that can't be parsed undoes only its trial") func unparsableStatement() async throws {
        let connection = try await connect()
        try await connection.run { connection in
            try connection.transaction { connection in
                try connection.execute("CREATE TEMPORARY TABLE numbers (number bigint)")
                #expect(throws: PostgresError.self) { try connection.tryOut([Trial(["SELECT FROM missing"])]) }
                try connection.execute("INSERT INTO numbers VALUES (1)")
            }
        }
        #expect(try await connection.query("SELECT FROM numbers").count == 1)
    }

    @Test("A trial succeeds again after its table has changed") func changedTable() async throws {
        let connection = try await connect()
        let read: SQL = "SELECT * FROM numbers"
        _ = try await tryOut([[read]], on: connection)
        try await connection.execute(script: "ALTER TABLE numbers ALTER number TYPE text")
        try await connection.run { connection in
            for attempt in 1...2 {
                try connection.transaction { connection in
                    let outcome = try connection.tryOut([Trial([read])])[0]
                    if attempt == 2 { #expect(try outcome.get().count == 1) }
                }
            }
        }
    }

    @Test("A connection that breaks during a trial is lost") func brokenConnection() async throws {
        let (connection, other) = (try await connect(), try await connect())
        let process = connection.backendProcessIdentifier
        async let trial = connection.run { connection in
            try connection.transaction { connection in
                try connection.tryOut(["SELECT 1", "SELECT pg_sleep(60)", "SELECT 1"].map { Trial([$0]) })
            }
        }
        try await eventually("the trial sleeps", within: .seconds(20)) {
            try await other.query("SELECT wait_event FROM pg_stat_activity WHERE pid = \(process)")
                .map { try $0.decode(0, as: String?.self) }
        } until: {
            $0 == ["PgSleep"]
        }
        _ = try await other.query("SELECT pg_terminate_backend(\(process))")
        do {
            _ = try await trial
            Issue.record("the trial ended")
        } catch {
            #expect((error as? PostgresError)?.isConnectionLost == true)
        }
    }

    @Test("Statements of a trial that are not prepared leave nothing in the session") func unprepared() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.run { connection in
            try connection.transaction { connection throws(PostgresError) in
                _ = try connection.tryOut((0..<300).map { Trial(["SELECT \(literal: "\($0)")"], prepared: false) })
            }
            let kept: Int = try connection.query("SELECT count(*) FROM pg_prepared_statements").single().decode(0)
            #expect(kept == 0)
        }
    }
}
