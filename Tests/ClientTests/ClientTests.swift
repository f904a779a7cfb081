import Foundation
import Subprocess
import TestPostgres
import Testing

/// Programs of other languages as clients, with their own test runners. `make dependencies` installs what they need.
@Suite("Clients in other languages", .database, .timeLimit(.minutes(30)))
struct ClientTests {
    private static let python: String? = {
        let path = URL(filePath: #filePath).appending(path: "../../../.build/clients/bin/python").standardized.path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }()

    @Test(
        "A Django project tests its moves in transactions that are rolled back, without a daemon",
        .enabled(if: python != nil, "Python's packages are missing: make dependencies installs them"))
    func django() async throws {
        try await runTests(of: "Django", count: 6)
    }

    @Test(
        "psycopg and SQLAlchemy insert, read, page and move rows of an attached table",
        .enabled(if: python != nil, "Python's packages are missing: make dependencies installs them"))
    func psycopgAndSQLAlchemy() async throws {
        try await runTests(of: "Python", count: 13)
    }

    /// Whether Ruby has what the guide needs.
    private static let hasRuby: Bool = {
        let probe = Process()
        probe.executableURL = URL(filePath: "/usr/bin/env")
        probe.arguments = ["ruby", "-e", "require 'acts_as_list'; require 'active_record'; require 'pg'"]
        probe.standardError = FileHandle.nullDevice
        guard (try? probe.run()) != nil else { return false }
        probe.waitUntilExit()
        return probe.terminationStatus == 0
    }()

    @Test(
        "A Rails application migrates from acts_as_list with the code of the guide",
        .enabled(if: hasRuby, "acts_as_list or Ruby's driver is missing: make dependencies installs them"))
    func actsAsList() async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Ruby/from_acts_as_list.rb").path
        let result = try await Subprocess.run(
            .name("ruby"), arguments: [script], environment: Self.environment, output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20))
        #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
        #expect(result.standardOutput.contains("10 passed"), "\(result.standardOutput + result.standardError)")
    }

    /// Runs the tests of a folder with pytest, and expects this many.
    private func runTests(of folder: String, count: Int) async throws {
        let project = URL(filePath: #filePath).deletingLastPathComponent().appending(path: folder).path
        let result = try await Subprocess.run(
            .path(.init(try #require(Self.python))),
            arguments: ["-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", "-q"],
            environment: Self.environment, workingDirectory: .init(project), output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20))
        let printed = result.standardOutput + result.standardError
        #expect(result.terminationStatus.isSuccess, "\(printed)")
        // A test whose program is missing, such as Node.js, is skipped with the reason.
        let run = printed.matches(of: /(\d+) (?:passed|skipped)/).compactMap { Int($0.1) }
        #expect(run.reduce(0, +) == count, "\(printed)")
    }

    private static var environment: Environment {
        .inherit.updating([
            "DATABASE_URL": TestDatabase.current.loopbackURL, "BROCOT": BrocotProgram.path,
            "PYTHONDONTWRITEBYTECODE": "1",
        ])
    }
}
