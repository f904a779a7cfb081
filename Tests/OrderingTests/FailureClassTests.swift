import Foundation
import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Ordering

@Suite("Classification of errors", .usualTimeLimit)
struct FailureClassTests {
    @Test("An error caused by data or a user's function is classified as a failure of the request", .commonDatabase)
    func request() async throws {
        for state in ["22003", "23514", "44000", "P0001", "54000", "0A000", "25006", "40001", "42501", "55000"] {
            #expect(FailureClass(try await failure(state)) == .request, "\(state)")
        }
    }

    @Test("A schema that a statement names and that is missing is a failure of the environment", .commonDatabase)
    func missingSchema() async throws {
        let connection = try await TestDatabase.current.connect()
        let error = await #expect(throws: PostgresError.self) {
            try await connection.query("SELECT missing.function()")
        }
        #expect(error?.sqlState == .invalidSchemaName)
        #expect(error.map { FailureClass(.database($0)) } == .environment)
    }

    @Test("The daemon and brocot.apply_pending judge the same classes of SQLSTATE", .database) func classes()
        async throws
    {
        let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        let states = digits.flatMap { first in digits.map { "\(first)\($0)ABC" } }
        let rows = try await TestDatabase.current.observer.query(
            "SELECT brocot.error_code(state) IS NULL FROM unnest(\(states)) WITH ORDINALITY AS every (state, number) ORDER BY number"
        )
        for (state, row) in zip(states, rows) {
            let decidesNothing = try row.decode(0, as: Bool.self)
            #expect(FailureClass.isEnvironmental(SQLState(rawValue: state)) == decidesNothing, "\(state)")
        }
    }

    @Test(
        "An error that a function raises on purpose is classified as a failure of the request, for any SQLSTATE",
        .commonDatabase)
    func raisedOnPurpose() async throws {
        for state in ["08006", "40P01", "53100", "53200", "55P03", "57014", "57P01", "58030", "XX000", "XX001"] {
            #expect(FailureClass(try await failure(state)) == .request, "\(state)")
        }
    }

    @Test(
        "A lock or time-out error inside a function is a failure of the environment, even if a handler raises it again",
        .database,
        arguments: [
            ("PERFORM FROM taken FOR UPDATE NOWAIT", "55P03"), ("PERFORM FROM taken FOR UPDATE", "55P03"),
            ("BEGIN PERFORM FROM taken FOR UPDATE NOWAIT; EXCEPTION WHEN OTHERS THEN RAISE; END", "55P03"),
            ("PERFORM pg_sleep(10)", "57014"),
        ])
    func serverWithinFunction(body: String, state: String) async throws {
        let (connection, holder) = (
            try await TestDatabase.current.connect(), try await TestDatabase.current.connect()
        )
        try await holder.execute(script: "CREATE TABLE taken (number bigint); INSERT INTO taken VALUES (1)")
        try await holder.execute(script: "BEGIN; SELECT FROM taken FOR UPDATE")
        try await connection.execute(script: "SET lock_timeout = '50ms'; SET statement_timeout = '500ms'")
        let error = try #require(await connection.refusal(ofScript: "DO $$ BEGIN \(body); END $$"))
        #expect(error.sqlState?.rawValue == state)
        #expect(FailureClass(.database(error)) == .environment, "\(error)")
    }

    @Test("A deadlock inside a function is a failure of the environment", .database)
    func deadlockWithinFunction() async throws {
        let (connection, other) = (try await TestDatabase.current.connect(), try await TestDatabase.current.connect())
        // Only the first session looks for deadlocks, so the server ends its statement.
        try await connection.execute(
            script: "SET deadlock_timeout = '10ms'; BEGIN; SELECT pg_advisory_xact_lock(1)")
        try await other.execute(script: "SET deadlock_timeout = '1h'; BEGIN; SELECT pg_advisory_xact_lock(2)")
        async let wait: Void = other.execute(script: "SELECT pg_advisory_xact_lock(1)")
        try await TestDatabase.current.waitUntilBlocked(other, by: connection)
        let error = await connection.refusal(ofScript: "DO $$ BEGIN PERFORM pg_advisory_xact_lock(2); END $$")
        try await connection.execute(script: "ROLLBACK")
        try await wait
        #expect(error?.sqlState == .deadlockDetected)
        #expect(error.map { FailureClass(.database($0)) } == .environment)
    }

    @Test("A file of a table that can't be opened is a failure of the environment, also within a function", .database)
    func fileOfTable() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute("CREATE TABLE audit (number bigint)")
        let path: String = try await owner.query(
            "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('audit')"
        ).single().decode(0)
        let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
        defer {
            try? FileManager.default.setAttributes([.posixPermissions: permissions as Any], ofItemAtPath: path)
        }
        // This session has not opened the file yet.
        let connection = try await TestDatabase.current.connect()
        let error = await connection.refusal(ofScript: "DO $$ BEGIN INSERT INTO audit VALUES (1); END $$")
        #expect(error?.sqlState == .insufficientPrivilege)
        #expect(FailureClass(.database(try #require(error))) == .environment)
    }

    @Test(
        "A missing table, right or feature in Brocot's own statement is classified as a failure of the environment",
        .database)
    func ownStatements() async throws {
        let connection = try await TestDatabase.current.connect()
        for script in [
            "SELECT FROM nowhere", "SELECT missing_function()", "SET TRANSACTION READ ONLY; CREATE TABLE t ()",
            "SELECT lastval()",
            "CREATE TABLE part (x int) PARTITION BY LIST (x); CREATE UNIQUE INDEX ON part ((x + 1))",
        ] {
            let error = try #require(await connection.refusal(ofScript: "BEGIN; \(script)"), "\(script)")
            #expect(FailureClass(.database(error)) == .environment, "\(script): \(error)")
            try await connection.execute(script: "ROLLBACK")
        }
    }

    @Test(
        "A missing table, column or right of a statement that reads concerns the whole table; an error in a function or of a statement that writes does not",
        .database)
    func concernsTable() async throws {
        let connection = try await TestDatabase.current.connect()
        try await TestRole.with("reader", owner: connection) { role in
            try await connection.execute(
                script: """
                    CREATE TABLE cards (id bigint); INSERT INTO cards VALUES (1);
                    CREATE FUNCTION fail(bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN missing(); END $$;
                    SET ROLE \(role.name)
                    """)
            for (statement, expected) in [
                ("SELECT FROM nowhere", true), ("SELECT nothing FROM pg_class", true), ("SELECT FROM cards", true),
                ("SELECT fail(1)", false), ("SELECT 1 / 0", false),
                ("DO $$ BEGIN RAISE undefined_column; END $$", false),
            ] {
                let error = try #require(await connection.refusal(ofScript: statement), "\(statement)")
                #expect(OrderingError.database(error).whileReading.concernsTable == expected, "\(statement): \(error)")
                #expect(!OrderingError.database(error).concernsTable)
            }
        }
        #expect(!OrderingError.tookTooLong(table: "t").concernsTable)
    }

    @Test("A missing right in a foreign key's own query is classified as a failure of the environment", .database)
    func foreignKey() async throws {
        let connection = try await TestDatabase.current.connect()
        let role = "owner_\(TestDatabase.current.name)"
        try await connection.execute(
            script: """
                CREATE ROLE \(role);
                CREATE TABLE boards (id bigint PRIMARY KEY); INSERT INTO boards VALUES (1);
                CREATE TABLE cards (board bigint REFERENCES boards);
                ALTER TABLE boards OWNER TO \(role); REVOKE ALL ON boards FROM \(role);
                """)
        do {
            try await connection.execute("INSERT INTO cards VALUES (1)")
            Issue.record("the owner of boards, as whom they are looked up, has no right to read them")
        } catch {
            #expect(error.sqlState == .insufficientPrivilege)
            #expect(FailureClass(.database(error)) == .environment, "\(error)")
        }
        try await connection.execute(script: "DROP OWNED BY \(role) CASCADE; DROP ROLE \(role)")
    }

    @Test("A repeated rank or item, or a row that another session changed, is classified as stale rows", .database)
    func staleRows() async throws {
        for statement in Self.repeatedPlaces {
            #expect(FailureClass(try await failure(of: statement)) == .staleRows, "\(statement)")
        }
        #expect(FailureClass(OrderingError.unexpectedRowCount(table: "t", expected: 2, written: 1)) == .staleRows)
        #expect(FailureClass(OrderingError.rowsChangedUnderLock(list: "l", key: "k")) == .staleRows)
    }

    /// Rows of one place, by the index of an attached table and by both keys of `brocot.items`.
    private static let repeatedPlaces = [
        """
        CREATE TABLE tasks (list int, rank numeric); CREATE UNIQUE INDEX brocot_tasks_rank ON tasks (list, rank);
        INSERT INTO tasks VALUES (1, 0), (1, 0)
        """,
        "INSERT INTO brocot.items VALUES ('l', 'a', 0, 1, 0), ('l', 'b', 0, 1, 0)",
        "INSERT INTO brocot.items VALUES ('l', 'a', 0, 1, 0), ('l', 'a', 1, 1, 1)",
    ]

    @Test("A violation of the user's own unique key is classified as a failure of the request", .database)
    func otherUniqueKey() async throws {
        let script =
            "CREATE TABLE tasks (id int PRIMARY KEY, rank numeric UNIQUE); INSERT INTO tasks VALUES (1, 0), (2, 0)"
        #expect(FailureClass(try await failure(of: script)) == .request)
        #expect(FailureClass(try await failure("23505")) == .request)
    }

    /// What a server reports that raises this SQLSTATE.
    private func failure(_ state: String) async throws -> OrderingError {
        try await failure(of: "DO $$ BEGIN RAISE EXCEPTION 'as asked' USING ERRCODE = '\(state)'; END $$")
    }

    private func failure(of script: String) async throws -> OrderingError {
        .database(try #require(try await TestDatabase.current.connect().refusal(ofScript: script)))
    }
}
