import FaultHarness
import LibPQ
import Logging
import TestPostgres
import Testing

/// A connection to the running test's database.
func connect(
    _ change: (inout ConnectionParameters) -> Void = { _ in }, logger: Logger = Logger(label: "LibPQTests")
) async throws -> Connection {
    var parameters = try ConnectionParameters(url: TestDatabase.current.url)
    parameters.answerTimeout = TestDatabase.longestStatement
    change(&parameters)
    return try await Connection.connect(parameters, logger: logger)
}

/// A connection to the running test's database through a proxy. The caller closes the proxy. The proxy sees each
/// statement, because the connection is not encrypted.
func connectThroughProxy(
    _ change: (inout ConnectionParameters) -> Void = { _ in }
) async throws -> (connection: Connection, proxy: FaultProxy) {
    var parameters = try ConnectionParameters(url: TestDatabase.current.loopbackURL)
    parameters.answerTimeout = TestDatabase.longestStatement
    let port = try #require(parameters["port"].flatMap { UInt16($0) })
    let proxy = try FaultProxy(serverPorts: [port])
    parameters["port"] = "\(proxy.ports[0])"
    parameters["sslmode"] = "disable"
    parameters["gssencmode"] = "disable"
    change(&parameters)
    do {
        return (try await Connection.connect(parameters, logger: Logger(label: "LibPQTests")), proxy)
    } catch {
        proxy.close()
        throw error
    }
}

/// The error that `body` throws.
func postgresError(_ body: () async throws -> Void) async throws -> PostgresError {
    do {
        try await body()
    } catch {
        return try #require(error as? PostgresError)
    }
    throw NothingThrown()
}

struct NothingThrown: Error {}

/// Waits until the connection's session runs a statement that contains `text`.
func waitForStatement(containing text: String, of connection: Connection) async throws {
    let observer = try await TestDatabase.current.observer
    let process = connection.backendProcessIdentifier
    try await eventually("session \(process) runs \(text)") {
        try await observer.query("SELECT concat_ws(' ', state, query) FROM pg_stat_activity WHERE pid = \(process)")
            .map { try $0.decode(0, as: String.self) }
    } until: { activity in
        activity.contains { $0.hasPrefix("active ") && $0.contains(text) }
    }
}
