import Subprocess
import TestPostgres
import Testing

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

@Suite("Failure of the standard output", .timeLimit(.minutes(30))) struct OutputFailureTests {
    @Test(
        "Every command that prints data fails if the standard output can't be written", .database,
        arguments: [
            ["migrate", "status"], ["show", "l"], ["check", "l"], ["status"], ["doctor"],
            ["grant", "reader", "postgres", "--dry-run"], ["daemon", "--dump-config"], ["--help"], ["--version"],
        ])
    func fullDisk(command: [String]) async throws {
        try await TestDatabase.current.connect().execute("INSERT INTO brocot.items VALUES ('l', 'a', 1, 1, 1)")
        let (status, errors) = try await run(command)
        #expect(status == .exited(1))
        #expect(errors.contains("Standard output can't be written: No space left on device."), "\(errors)")
    }

    @Test("brocot migrate plan fails if the standard output can't be written", .database(migrated: false))
    func plan() async throws {
        #expect(try await run(["migrate", "plan", "--sql"]).status == .exited(1))
    }

    private func run(_ arguments: [String]) async throws -> (status: TerminationStatus, errors: String) {
        let full = try FileDescriptor.open("/dev/full", .writeOnly)
        let result = try await Subprocess.run(
            .path(.init(BrocotProgram.path)), arguments: Arguments(arguments),
            environment: .inherit.updating(["BROCOT_DATABASE_URL": TestDatabase.current.url]),
            output: .fileDescriptor(full, closeAfterSpawningProcess: true), error: .string(limit: 1 << 16))
        return (result.terminationStatus, result.standardError)
    }
}
