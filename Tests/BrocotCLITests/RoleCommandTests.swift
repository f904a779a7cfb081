import LibPQ
import TestPostgres
import Testing

@Suite("Commands of granted roles", .database, .timeLimit(.minutes(30))) struct RoleCommandTests {
    @Test("A command succeeds if its role was granted the rights for it")
    func granted() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute("INSERT INTO brocot.items VALUES ('l', 'a', 1, 1, 1)")
        for (kind, commands) in [
            ("requester", [["status"], ["show", "l"], ["check", "l"], ["doctor", "--role", "requester"]]),
            ("reader", [["show", "l"], ["doctor", "--role", "reader"]]),
            ("daemon", [["doctor"], ["status"], ["release", "--all"]]),
        ] {
            try await GrantedRole.with(kind, owner: owner) { roles in
                for command in commands {
                    let result = try await BrocotProcess.run(command, databaseURL: roles[0].url)
                    #expect(result.exitCode == 0, "\(kind) \(command): \(result.output)\(result.errors)")
                    #expect(!result.output.contains("permission denied"), "\(kind) \(command): \(result.output)")
                }
            }
        }
    }

    @Test("A command of a role without a grant names the grant that the role needs")
    func withoutGrant() async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with("nobody", owner: owner) { role in
            for (command, kind) in [
                (["status"], "requester"), (["check", "l"], "requester"), (["show", "l"], "reader"),
                (["release", "l"], "daemon"), (["daemon", "--drain"], "daemon"),
                (["doctor", "--role", "requester"], "requester"), (["doctor", "--role", "reader"], "reader"),
            ] {
                let result = try await BrocotProcess.run(command, databaseURL: role.url)
                #expect(result.exitCode == (command[0] == "doctor" ? 7 : 1), "\(command)")
                let printed = result.output + result.errors
                #expect(printed.contains("permission denied for schema brocot"), "\(command): \(printed)")
                #expect(printed.contains("brocot grant \(kind) \(role.name)\n"), "\(command): \(printed)")
            }
        }
    }
}
