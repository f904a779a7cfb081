import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Log of the daemon as JSON", .database, .usualTimeLimit) struct JSONLogTests {
    /// The fields of each line. The details of a line depend on its message.
    private struct Line: Decodable {
        let time: String
        let level: String
        let message: String
        let metadata: Details?
    }

    private struct Details: Decodable {
        let list: String?
        let worker: Int?
        let error: String?
        let next_step: String?
    }

    @Test(
        "Each line of the JSON log has time, level and message, and a refused statement has the error and the next step"
    )
    func lines() async throws {
        let owner = try await TestDatabase.current.connect()
        try await GrantedRole.with(.daemon, owner: owner) { roles in
            try await owner.execute(script: "REVOKE INSERT ON brocot.items FROM \(roles[0].name)")
            try await owner.execute("SELECT brocot.move(E'two\nlines', 'a', last => true)")
            let daemon = try await BrocotProcess.run(
                "daemon", "--drain", "--workers", "1", "--log-format", "json", databaseURL: roles[0].url,
                environment: ["BROCOT_WORKER": "3"])
            #expect(daemon.exitCode == 7)
            let printed = daemon.errors.split(separator: "\n")
            let lines = try printed.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
            for line in lines { #expect(line.time.contains(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/), "\(line)") }
            #expect(
                Set(lines.map(\.level)).isSubset(of: ["info", "warning", "error", "critical"]), "\(daemon.errors)")
            #expect(lines.first?.level == "warning", "the unknown variable")
            let refusal = try #require(lines.first { $0.metadata?.list != nil }, "\(daemon.errors)")
            #expect(refusal.level == "error")
            #expect(refusal.metadata?.list == "items/two\nlines")
            #expect(refusal.metadata?.worker == 1)
            #expect(refusal.metadata?.error?.contains("permission denied for table items") == true)
            #expect(refusal.metadata?.next_step?.contains("brocot grant daemon ROLE") == true)
            #expect(lines.last?.level == "critical", "the reason for the exit status")
        }
    }
}
