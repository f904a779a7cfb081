import TestLimit
import TestPostgres
import Testing

@Suite("Commands on a standby", .databaseOnStandby, .usualTimeLimit) struct StandbyCommandTests {
    @Test("Commands that write exit with 6 on a standby, and name the solution; doctor runs its other checks")
    func standby() async throws {
        let daemon = try await BrocotProcess.run("daemon")
        #expect(daemon.exitCode == 6, "the daemon")
        #expect(daemon.errors.contains("target_session_attrs=read-write"), "the daemon: \(daemon.errors)")

        for arguments in [
            ["attach", "public.tasks", "--item", "id"], ["detach", "public.tasks"], ["check"], ["import", "l"],
            ["grant", "reader", "postgres"], ["pause"], ["resume"], ["release", "l"], ["retry", "1"],
        ] {
            let result = try await BrocotProcess.run(arguments)
            #expect(result.exitCode == 6, "\(arguments)")
            #expect(
                result.errors.contains("is a standby, which can't be written to. Connect to the primary"),
                "\(arguments)")
        }

        let doctor = try await BrocotProcess.run("doctor")
        #expect(doctor.exitCode == 6, "doctor")
        let failures = doctor.output.matches(of: /(?:^|\n)fail +(\S+)/).map { String($0.1) }
        #expect(failures == ["replica"], "doctor: \(doctor.output)")
        #expect(doctor.output.contains(/\n\w+ +dead rows\b/), "doctor: \(doctor.output)")
    }
}
