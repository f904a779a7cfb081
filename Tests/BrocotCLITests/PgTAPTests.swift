import FoundationEssentials
import LibPQ
import LocalPostgres
import Subprocess
import TestLimit
import TestPostgres
import Testing

@Suite(
    "pgTAP", .database, .usualTimeLimit,
    .enabled("the server has no extension pgTAP (on Debian: postgresql-15-pgtap)") { try await ServerBuild.hasPgTAP() })
struct PgTAPTests {
    @Test("The test of docs/testing.md succeeds as it is printed, and leaves nothing behind")
    func documentedTest() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("CREATE EXTENSION pgtap")
        let (psql, url) = (TestDatabase.current.cluster.installation.program("psql"), TestDatabase.current.url)
        let script = try Self.documentedTest()
        let result = try await withDeadline("psql ended") {
            try await Subprocess.run(
                .path(.init(psql)), arguments: ["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", url], input: .string(script),
                output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
        }
        #expect(result.standardError.isEmpty && result.terminationStatus.isSuccess, "\(result.standardError)")
        // The plan, the request's id, the number of applied requests, and the result.
        #expect(result.standardOutput == "1..1\n1\n1\nok 1\n")
        #expect(try await connection.query("SELECT FROM brocot.items").isEmpty)
    }

    /// The SQL below "pgTAP" in docs/testing.md.
    private static func documentedTest() throws -> String {
        let page = try Repository.text(of: "docs/testing.md")
        let start = try #require(page.firstRange(of: "\n## pgTAP\n\n```sql\n"))
        return try String(#require(page[start.upperBound...].split(separator: "```", maxSplits: 1).first))
    }
}
