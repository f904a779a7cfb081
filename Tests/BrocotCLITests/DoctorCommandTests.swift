import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("brocot doctor", .usualTimeLimit) struct DoctorCommandTests {
    private struct PrintedResult: Decodable {
        let check: String
        let level: String
        let message: String
        let advice: String?
    }

    @Test("brocot doctor finds no fault in a healthy database", .database)
    func healthy() async throws {
        let (exitCode, results) = try await examine()
        #expect(exitCode == 0)
        #expect(
            results.filter { $0.level != "ok" && !["commits", "dead rows"].contains($0.check) }.map(\.message) == [])
        #expect(
            results.map(\.check) == [
                "connection", "version", "encoding", "replica", "pooler", "notify", "time-outs", "lock table",
                "table locks", "schema",
                "privileges", "grants", "tables", "orders", "keys", "foreign key", "duplicates", "ranks", "request ids",
                "policies",
                "superuser", "added code", "code rights", "triggers",
                "autovacuum", "log pruning", "held lists", "pauses", "daemons", "queue", "commits",
                "dead rows",
            ])
    }

    @Test("brocot doctor prints a line for each check, with the advice below", .database)
    func text() async throws {
        try await TestDatabase.current.observer.execute(script: Self.held)
        let result = try await BrocotProcess.run("doctor")
        #expect(result.exitCode == 7)
        #expect(result.output.contains("ok    schema      version "))
        #expect(result.output.contains("fail  held lists  1 wait for a person\n                  → See brocot status."))
        #expect(result.errors.contains("1 check fails"))
    }

    @Test(
        "brocot doctor exits with the code for the schema's state, and gives advice", .database,
        arguments: [
            ("DELETE FROM brocot.schema_migrations WHERE version > 2", 3, "brocot migrate up"),
            ("UPDATE brocot.schema_migrations SET checksum = 'another' WHERE version = 2", 4, "migrate status"),
            (
                "INSERT INTO brocot.schema_migrations (version, name, checksum, duration) VALUES (99, 'later', '', '1 s')",
                8, "Update the program"
            ),
        ] as [(String, Int32, String)])
    func schemaState(change: String, expected: Int32, advice: String) async throws {
        try await TestDatabase.current.observer.execute(script: change)
        let (exitCode, results) = try await examine()
        #expect(exitCode == expected)
        let failures = results.filter { $0.level == "fail" }
        #expect(failures.map(\.check) == ["schema"])
        #expect(failures.first?.advice?.contains(advice) == true)
    }

    @Test("brocot doctor exits with 3 if the schema is missing, and runs the other checks", .database(migrated: false))
    func noSchema() async throws {
        let (exitCode, results) = try await examine()
        #expect(exitCode == 3)
        #expect(results.last?.check == "dead rows")
    }

    private static let held = """
        INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at) VALUES ('items', 'l', 1, 'no', now())
        """

    private func examine() async throws -> (exitCode: Int32?, results: [PrintedResult]) {
        let result = try await BrocotProcess.run("doctor", "--json")
        return (result.exitCode, try JSONDecoder().decode([PrintedResult].self, from: Data(result.output.utf8)))
    }
}
