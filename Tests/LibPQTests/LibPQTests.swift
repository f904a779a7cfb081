import LibPQ
import Logging
import TestPostgres
import Testing

@Test(.database) func `a bound value comes back as it was sent`() async throws {
    let parameters = try ConnectionParameters(url: TestDatabase.current.url)
    let connection = try await Connection.connect(parameters, logger: Logger(label: "test"))
    let rows = try await connection.query("SELECT \(["a", nil])")
    #expect(try rows[0].decode(0) == ["a", nil])
}
