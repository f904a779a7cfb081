import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Errors of attach", .usualTimeLimit) struct AttachErrorTests {
    @Test("A step that the database refuses is named, with what stays and how to go on", .database)
    func failedStep() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id int PRIMARY KEY, project_id text);
            INSERT INTO tasks SELECT 1, string_agg(md5(n::text), '') FROM generate_series(1, 250) AS n;
            """)
        let error = await #expect(throws: AttachError.self) { try await fixture.attach() }
        let message = try #require(error).description
        #expect(message.hasPrefix("index row size"), "\(message)")
        #expect(
            message.hasSuffix(
                "The finished steps stay. Remove the cause, and run the same command again: it continues after them."),
            "\(message)")
        try await fixture.connection.execute("UPDATE tasks SET project_id = '1'")
        try await fixture.attach()
        #expect(try await fixture.texts("SELECT rank FROM tasks") == ["0"])
    }

    @Test("Only a cancellation is reported as interrupted")
    func cancellation() async throws {
        let cancelled = await #expect(throws: AttachError.self) {
            try await wrappingErrors { throw CancellationError() }
        }
        #expect(cancelled?.description.hasPrefix("Interrupted") == true)
        let untrusted = OrderingError.untrustedOwner(table: "t", owner: "ann")
        let other = await #expect(throws: AttachError.self) {
            try await wrappingErrors { throw untrusted }
        }
        #expect(other?.description == untrusted.description)
    }
}
