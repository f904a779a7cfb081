import Administration
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Commands of granted roles", .database, .usualTimeLimit) struct RoleCommandTests {
    @Test("A command succeeds if its role was granted the rights for it")
    func granted() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute("INSERT INTO brocot.items VALUES ('l', 'a', 1, 1, 1)")
        for (kind, commands) in [
            (.requester, [["status"], ["show", "l"], ["check", "l"], ["doctor", "--role", "requester"]]),
            (.reader, [["show", "l"], ["doctor", "--role", "reader"]]),
            (.daemon, [["doctor"], ["status"], ["release", "--all"]]),
        ] as [(RoleKind, [[String]])] {
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

    @Test(
        "A command of a daemon's role that lacks a right names the grant of a daemon, and so does doctor",
        arguments: ["SELECT ON brocot.held_lists", "SELECT ON brocot.ordered_tables", "DELETE ON brocot.move_requests"])
    func daemonWithoutRight(right: String) async throws {
        let owner = try await TestDatabase.current.connect()
        try await GrantedRole.with(.daemon, owner: owner) { roles in
            let role = roles[0]
            try await owner.execute(script: "REVOKE \(right) FROM \(role.name)")
            let status = try await BrocotProcess.run("status", databaseURL: role.url)
            // The command deletes nothing.
            let isRefused = !right.hasPrefix("DELETE")
            #expect(status.exitCode == (isRefused ? 1 : 0))
            #expect(status.errors.contains("brocot grant daemon \(role.name)\n") == isRefused, "\(status.errors)")
            let doctor = try await BrocotProcess.run("doctor", databaseURL: role.url)
            #expect(doctor.exitCode == 7)
            #expect(doctor.output.contains("brocot grant daemon \(role.name)"), "\(doctor.output)")
            for other in ["mover", "requester", "reader"] {
                #expect(!doctor.output.contains("brocot grant \(other)"), "\(doctor.output)")
            }
            // No daemon needs the right to request moves.
            try await owner.execute(script: "GRANT \(right) TO \(role.name)")
            let retry = try await BrocotProcess.run("retry", "1", databaseURL: role.url)
            #expect(retry.errors.contains("brocot grant requester \(role.name)\n"), "\(retry.errors)")
        }
    }
}
