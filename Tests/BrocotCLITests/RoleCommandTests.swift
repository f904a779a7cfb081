import FoundationEssentials
import LibPQ
import TestPostgres
import Testing

@Suite("Commands of granted roles", .database, .timeLimit(.minutes(30))) struct RoleCommandTests {
    @Test(
        "A command succeeds if its role was granted the rights for it",
        arguments: [
            ("requester", ["status"]), ("requester", ["show", "l"]), ("requester", ["check", "l"]),
            ("requester", ["doctor", "--role", "requester"]),
            ("reader", ["show", "l"]), ("reader", ["doctor", "--role", "reader"]),
            ("daemon", ["doctor"]), ("daemon", ["status"]), ("daemon", ["release", "--all"]),
        ])
    func granted(kind: String, command: [String]) async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute("INSERT INTO brocot.items VALUES ('l', 'a', 1, 1, 1)")
        try await GrantedRole.with(kind, owner: owner) { roles in
            let result = try await BrocotProcess.run(command, databaseURL: roles[0].url)
            #expect(result.exitCode == 0, "\(result.output)\(result.errors)")
            #expect(!result.output.contains("permission denied"), "\(result.output)")
        }
    }

    @Test(
        "A command of a role without a grant names the grant that the role needs",
        arguments: [
            (["status"], "requester"), (["check", "l"], "requester"), (["show", "l"], "reader"),
            (["release", "l"], "daemon"), (["daemon", "--drain"], "daemon"),
            (["doctor", "--role", "requester"], "requester"), (["doctor", "--role", "reader"], "reader"),
        ])
    func withoutGrant(command: [String], kind: String) async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with("nobody", owner: owner) { role in
            let result = try await BrocotProcess.run(command, databaseURL: role.url)
            #expect(result.exitCode == (command[0] == "doctor" ? 7 : 1))
            let printed = result.output + result.errors
            #expect(printed.contains("permission denied for schema brocot"), "\(printed)")
            #expect(printed.contains("brocot grant \(kind) \(role.name)\n"), "\(printed)")
        }
    }
}
