import FoundationEssentials
import Logging
import TestLimit
import TestPostgres
import Testing

import FaultHarness
@testable import LibPQ

/// Errors of connections that can't be opened, and their messages.
/// libpq's and PgBouncer's texts, as they are seen with verbose messages.
struct ConnectionFailureTests {
    @Test(
        "The reason of a connection failure is found in any language of the server",
        arguments: [
            (
                "FATAL:  28P01: password authentication failed for user \"ann\"\nLOCATION:  auth_failed, auth.c:335\n",
                .authenticationFailed
            ),
            ("FATAL:  28000: no pg_hba.conf entry for host \"10.0.0.1\", user \"ann\"\n", .authenticationFailed),
            ("FATAL:  08P01: SASL authentication failed\n", .authenticationFailed),
            ("ФАТАЛЬНО:  3D000: база данных \"app\" не существует\n", .noSuchDatabase),
            ("FATAL:  08P01: no such database: app\n", .noSuchDatabase),
            ("FATAL:  57P03: the database system is starting up\n", .notAccepting),
            ("FATAL:  57P02: terminating connection because of crash of another server process\n", .notAccepting),
            ("FATAL:  53100: could not write init file\n", .notAccepting),
            ("FATAL:  53200: out of memory\n", .notAccepting),
            ("FATAL:  58030: could not read block 0 in file \"base/5/1259\"\n", .notAccepting),
            ("failed: could not fork new process for connection: Cannot allocate memory\n", .notAccepting),
            ("FATAL:  08P01: query_wait_timeout\n", .notAccepting),
            ("FATAL:  08P01: unsupported startup parameter: options\n", .other),
            ("FATAL:  08P01: unsupported startup parameter in options: search_path\n", .other),
            ("FATAL:  08P01: no more connections allowed (max_client_conn)\n", .notAccepting),
            ("FATAL:  08P01: server login has been failing, try again later (server_login_retry)\n", .notAccepting),
            ("FATAL:  08P01: pgbouncer cannot connect to server\n", .notAccepting),
            ("FATAL:  08P01: the database system is shutting down\n", .notAccepting),
            ("FATAL:  08P01: database \"app\" does not exist\n", .noSuchDatabase),
            ("FATAL:  08P01: role \"ann\" does not exist\n", .authenticationFailed),
            ("failed: Connection refused\n\tIs the server running on that host?\n", .unreachable),
            ("server closed the connection unexpectedly\n\tThis probably means …\n", .unreachable),
            ("failed: server is in hot standby mode\n", .standby), ("SSL error: certificate verify failed\n", .other),
            ("failed: root certificate file \"/ca/root.crt\" does not exist\nEither provide the file …\n", .other),
        ] as [(String, PostgresError.ConnectionFailure)])
    func languagesOfReasons(
        _ account: String, _ reason: PostgresError.ConnectionFailure
    ) throws {
        let error = connectionFailure(
            "connection to server at \"db\", port 5432 \(account)", at: try ConnectionParameters())
        #expect(error.connectionFailure == reason)
        #expect(error.code == .connectionFailed)
    }

    @Test("The SQLSTATE is taken out of the message, and the source location is removed") func sqlStateInMessage()
        throws
    {
        let error = connectionFailure(
            "connection to server at \"db\" failed: FATAL:  3D000: database \"a:  X0000: b\" does not exist\nLOCATION:  x\n",
            at: try ConnectionParameters())
        #expect(error.sqlState == .invalidCatalogName)
        #expect(
            error.message
                == "connection to server at \"db\" failed: FATAL:  database \"a:  X0000: b\" does not exist")
    }
}

@Suite("Attempts to connect", .usualTimeLimit) struct ConnectingTests {
    private let logger = Logger(label: "ConnectingTests")

    private func failure(_ parameters: ConnectionParameters) async throws -> PostgresError {
        try await postgresError { _ = try await Connection.connect(parameters, logger: logger) }
    }

    @Test("A port without a server is reported as unreachable, without the password") func portWithoutServer()
        async throws
    {
        let error = try await failure(ConnectionParameters(url: "postgresql://ann:s3cret@127.0.0.1:1/app"))
        #expect(error.code == .connectionFailed)
        #expect(error.connectionFailure == .unreachable)
        #expect(error.isConnectionLost)
        #expect(error.message == "connection to server at \"127.0.0.1\", port 1 failed: Connection refused")
        #expect(error.hint?.contains("database \"app\" at 127.0.0.1:1 as user \"ann\"") == true)
        #expect(!error.description.contains("s3cret"))
    }

    @Test(
        "Parameters that libpq refuses are reported as invalid",
        arguments: [
            "sslmode=bogus", "channel_binding=nope", "service=nope", "host=/\(String(repeating: "long", count: 40))",
        ]) func refusedParameters(_ text: String) async throws
    {
        let error = try await failure(ConnectionParameters(url: "\(text) dbname=app user=ann"))
        #expect(error.code == .invalidParameters, "\(error)")
    }

    @Test(
        "A URL as the value of a keyword is refused before a name is looked up, and is in no message",
        arguments: ["host", "hostaddr", "port", "dbname", "user", "service"])
    func urlAsValue(
        _ keyword: String
    ) async throws {
        var parameters = try ConnectionParameters(url: "host=127.0.0.1 port=1 dbname=app user=ann")
        parameters[keyword] = "postgresql://ann:s3,cret@db/app"
        let error = try await failure(parameters)
        #expect(error.code == .invalidParameters)
        #expect(error.message == "the connection keyword \(keyword) contains a URL")
        #expect(!(error.description + parameters.summary).contains("s3"))
        #expect(!(error.description + parameters.summary).contains("cret"))
    }

    @Test("A missing socket is reported as unreachable") func missingSocket() async throws {
        let error = try await failure(ConnectionParameters(url: "host=/nowhere dbname=app user=ann"))
        #expect(error.connectionFailure == .unreachable)
    }

    @Test("A host without an address is reported as unreachable") func hostWithoutAddress() async throws {
        let error = try await failure(ConnectionParameters(url: "host=no-such-host.invalid dbname=app user=ann"))
        #expect(error.connectionFailure == .unreachable)
        #expect(error.message.contains("no-such-host.invalid"))
    }

    @Test("A missing database is reported with its name and SQLSTATE", .commonDatabase) func missingDatabase()
        async throws
    {
        let error = try await postgresError { _ = try await connect { $0["dbname"] = "no such" } }
        #expect(error.code == .connectionFailed)
        #expect(error.connectionFailure == .noSuchDatabase)
        #expect(error.sqlState == .invalidCatalogName)
        #expect(error.message.hasSuffix("FATAL:  database \"no such\" does not exist"))
    }

    @Test("A missing right to connect is reported with the grant", .database(migrated: false))
    func missingRightToConnect() async throws {
        let owner = try await connect()
        let database = TestDatabase.current.name
        let error = try await TestRole.with("a \"guest\"", owner: owner) { role in
            try await owner.execute("REVOKE CONNECT ON DATABASE \(identifier: database) FROM PUBLIC")
            return try await failure(ConnectionParameters(url: role.url))
        }
        #expect(error.sqlState == .insufficientPrivilege)
        #expect(
            error.hint == """
                As the database's owner: GRANT CONNECT ON DATABASE "\(database)" TO "a ""guest""_of_\(database)"
                """)
    }

    @Test("A server without a free connection is reported with what it needs", .commonDatabase) func noFreeConnection()
        async throws
    {
        let owner = try await connect()
        let error = try await TestRole.with("crowd", owner: owner) { role in
            try await owner.execute("ALTER ROLE \(identifier: role.name) CONNECTION LIMIT 0")
            return try await failure(ConnectionParameters(url: role.url))
        }
        #expect(error.sqlState == .tooManyConnections && error.connectionFailure == .notAccepting)
        #expect(error.hint?.contains("raise max_connections, or the CONNECTION LIMIT of the role") == true)
    }

    @Test("A wrong password is reported without the password", .commonDatabase) func wrongPassword() async throws {
        var parameters = try ConnectionParameters(url: TestDatabase.current.loopbackURL)
        parameters["password"] = "s3cret"
        let error = try await failure(parameters)
        #expect(error.code == .connectionFailed)
        #expect(error.connectionFailure == .authenticationFailed)
        #expect(error.sqlState == .invalidPassword)
        #expect(error.message.hasSuffix("FATAL:  password authentication failed for user \"postgres\""))
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!(error.description + dumped).contains("s3cret"))
    }

    /// With a further host that can't be reached, the error would be temporary, and a daemon would wait.
    @Test("No further host is tried after a missing database or a wrong password", .database(migrated: false))
    func noFurtherHostAfterRefusal()
        async throws
    {
        let database = try ConnectionParameters(url: TestDatabase.current.loopbackURL)
        let cases: [(String, PostgresError.ConnectionFailure)] = [
            ("dbname", .noSuchDatabase), ("password", .authenticationFailed),
        ]
        for (keyword, expected) in cases {
            var parameters = database
            parameters[keyword] = "wrong"
            parameters["host"] = "127.0.0.1,127.0.0.1"
            parameters["port"] = "\(try #require(database["port"])),1"
            let error = try await failure(parameters)
            #expect(error.connectionFailure == expected && !error.message.contains("port 1 failed"))
        }
    }

    @Test("A connection succeeds with the right password", .commonDatabase) func rightPassword() async throws {
        let parameters = try ConnectionParameters(url: TestDatabase.current.loopbackURL)
        let connection = try await Connection.connect(parameters, logger: logger)
        let row = try await connection.query("SELECT current_user::text, current_database()::text, pg_backend_pid()")[0]
        #expect(try row.decode(0) == "postgres")
        #expect(try row.decode(1) == TestDatabase.current.name)
        #expect(try row.decode(2) == connection.backendProcessIdentifier)
        #expect(connection.serverVersion >= 140_000)
        #expect(connection.summary.hasPrefix("database \"\(TestDatabase.current.name)\" at 127.0.0.1:"))
    }

    @Test("A missing password is reported as an authentication failure", .commonDatabase) func missingPassword()
        async throws
    {
        var parameters = try ConnectionParameters(url: TestDatabase.current.loopbackURL)
        parameters["password"] = nil
        parameters["passfile"] = "/nowhere"
        #expect(try await failure(parameters).connectionFailure == .authenticationFailed)
    }

    @Test("A server that does not answer in time is reported as timed out") func timesOut() async throws {
        let listener = try SilentListener()
        let parameters = try ConnectionParameters(
            url: "host=127.0.0.1 port=\(listener.port) dbname=app user=ann connect_timeout=1")
        let start = ContinuousClock.now
        let error = try await failure(parameters)
        #expect(error.code == .connectionFailed)
        #expect(error.connectionFailure == .timedOut)
        #expect(start.duration(to: .now) < .seconds(60))
    }

    @Test(
        "A connect_timeout that is not a whole number of seconds is refused",
        arguments: ["soon", "1s", "1.5", "99999999999"])
    func malformedTimeout(value: String) async throws {
        var parameters = try ConnectionParameters(url: "postgresql://ann@127.0.0.1:1/app")
        parameters["connect_timeout"] = value
        let error = try await failure(parameters)
        #expect(error.code == .invalidParameters)
        #expect(error.message == "connect_timeout is \"\(value)\", which is not a whole number of seconds")
    }

    @Test("A cancelled task stops its attempt to connect") func cancelledAttempt() async throws {
        let listener = try SilentListener()
        var parameters = try ConnectionParameters(url: "host=127.0.0.1 port=\(listener.port) dbname=app user=ann")
        parameters["connect_timeout"] = "300"
        let task = Task { [logger, parameters] in
            try await postgresError { _ = try await Connection.connect(parameters, logger: logger) }
        }
        try await eventually("the connection is begun") { listener.hasCaller }
        let start = ContinuousClock.now
        task.cancel()
        let error = try await task.value(until: "the cancelled attempt ended")
        #expect(error.code == .cancelled)
        #expect(start.duration(to: .now) < .seconds(60))
    }

    @Test(
        "The next host is tried if a host does not answer", .database(migrated: false, mostlyWaits: true),
        arguments: ["any", "prefer-standby"])
    func nextHost(wanted: String) async throws {
        let listener = try SilentListener()
        let database = try ConnectionParameters(url: TestDatabase.current.loopbackURL)
        var parameters = database
        parameters["host"] = "127.0.0.1,127.0.0.1,127.0.0.1"
        parameters["port"] = "1,\(listener.port),\(try #require(database["port"]))"
        parameters["target_session_attrs"] = wanted
        // Long enough for a busy machine to answer.
        parameters["connect_timeout"] = "8"
        let connection = try await Connection.connect(parameters, logger: logger)
        #expect(try await connection.query("SELECT 1")[0].decode(0) == 1)
    }

    @Test("The error names all hosts if none of them is reachable") func namesAllHosts() async throws {
        let error = try await failure(ConnectionParameters(url: "postgresql://ann@127.0.0.1:1,127.0.0.1:2/app"))
        #expect(error.connectionFailure == .unreachable)
        #expect(error.message.contains("port 1 failed") && error.message.contains("port 2 failed"))
    }

    @Test(
        "A host that answers without TLS is not taken for an unreachable one, also if a further host is unreachable",
        .database(migrated: false))
    func hostWithoutTLS()
        async throws
    {
        var parameters = try ConnectionParameters(url: TestDatabase.current.loopbackURL)
        parameters["sslmode"] = "require"
        parameters["host"] = "127.0.0.1,127.0.0.1"
        parameters["port"] = "\(try #require(parameters["port"])),1"
        let error = try await failure(parameters)
        #expect(error.message.contains("does not support SSL") && error.message.contains("port 1 failed"))
        #expect(error.hint == nil)
    }

    @Test(
        "A read-only server is reported as a standby if a writable server is required, and the hint names both causes",
        .database(migrated: false))
    func readOnlyServer()
        async throws
    {
        let connection = try await connect()
        let name = TestDatabase.current.name
        try await connection.execute("ALTER DATABASE \(identifier: name) SET default_transaction_read_only = on")
        let error = try await postgresError { _ = try await connect { $0["target_session_attrs"] = "read-write" } }
        #expect(error.code == .connectionFailed)
        #expect(error.connectionFailure == .standby)
        #expect(error.hint?.contains("default_transaction_read_only is on") == true)
        #expect(error.hint?.contains("target_session_attrs=primary") == true)
    }

    @Test(
        "With target_session_attrs=primary, a primary that is read-only by default is found behind other hosts",
        .database(migrated: false))
    func readOnlyPrimary()
        async throws
    {
        let connection = try await connect()
        let name = TestDatabase.current.name
        try await connection.execute("ALTER DATABASE \(identifier: name) SET default_transaction_read_only = on")
        var parameters = try ConnectionParameters(url: TestDatabase.current.loopbackURL)
        parameters["target_session_attrs"] = "primary"
        parameters["host"] = "127.0.0.1,127.0.0.1"
        parameters["port"] = "1,\(try #require(parameters["port"]))"
        let found = try await Connection.connect(parameters, logger: logger)
        #expect(try await found.query("SELECT current_setting('transaction_read_only')")[0].decode(0) == "on")
    }

    @Test("An unreachable host and a standby together are reported as unreachable", .database(migrated: false))
    func unreachableAndStandby()
        async throws
    {
        let connection = try await connect()
        let name = TestDatabase.current.name
        try await connection.execute("ALTER DATABASE \(identifier: name) SET default_transaction_read_only = on")
        var parameters = try ConnectionParameters(url: TestDatabase.current.loopbackURL)
        parameters["target_session_attrs"] = "read-write"
        parameters["host"] = "127.0.0.1,127.0.0.1"
        parameters["port"] = "1,\(try #require(parameters["port"]))"
        let error = try await failure(parameters)
        #expect(error.connectionFailure == .unreachable)
        #expect(error.hint?.contains("Is the server running") == true)
        #expect(error.hint?.contains("127.0.0.1:1 ") == true)
    }

    @Test("A standby alone is reported as a standby, with a hint to connect to the primary", .databaseOnStandby)
    func standbyAlone() async throws {
        let error = try await postgresError { _ = try await connect { $0["target_session_attrs"] = "primary" } }
        #expect(error.connectionFailure == .standby)
        #expect(error.hint == "Connect to the primary server: a standby can't be written to.")
        let connection = try await connect()
        #expect(try await connection.isStandby())
    }

    @Test(
        "A full server is reported as not accepting connections",
        .database(migrated: false, on: .own(settings: ["max_connections": "4", "superuser_reserved_connections": "0"])))
    func fullServer() async throws {
        var connections: [Connection] = []
        let error = try await postgresError {
            while connections.count < 10 { connections.append(try await connect()) }
        }
        #expect(error.connectionFailure == .notAccepting)
        #expect(error.sqlState == .tooManyConnections)
    }
}
