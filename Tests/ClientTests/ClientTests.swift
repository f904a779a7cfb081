import Foundation
import Subprocess
import TestLimit
import TestPostgres
import Testing

/// Programs of other languages as clients, with their own test runners. `make dependencies` installs what they need.
@Suite("Clients in other languages", .database, .usualTimeLimit)
struct ClientTests {
    private static let python: String? = {
        let path = URL(filePath: #filePath).appending(path: "../../../.build/clients/bin/python").standardized.path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }()

    @Test(
        "A Django project tests its moves in transactions that are rolled back, without a daemon",
        .enabled(if: python != nil, "Python's packages are missing: make dependencies installs them"))
    func django() async throws {
        try await runTests(of: "Django", passed: 7)
    }

    @Test(
        "Clients in Python insert, read, page and move rows, are told of moves, and follow the guides and the page on tests",
        .enabled(if: python != nil, "Python's packages are missing: make dependencies installs them"))
    func driversOfPython() async throws {
        // One of the tests runs a program of Node.js.
        let skipped = ClientProgram.succeeds("node", "--version") ? 0 : 1
        try await runTests(of: "Python", passed: 30 - skipped, skipped: skipped)
    }

    /// Whether Ruby has what the guide needs.
    private static let hasRuby = ClientProgram.succeeds(
        "ruby", "-e", "require 'acts_as_list'; require 'active_record'; require 'pg'")

    @Test(
        "A Rails application migrates from acts_as_list with the code of the guide",
        .enabled(if: hasRuby, "acts_as_list or Ruby's driver is missing: make dependencies installs them"))
    func actsAsList() async throws {
        try await runScript("Ruby/from_acts_as_list.rb", with: "ruby", count: 16)
    }

    @Test(
        "A Rails application orders records and fixtures with the code of the recipe and of the page on tests",
        .enabled(if: hasRuby, "acts_as_list or Ruby's driver is missing: make dependencies installs them"))
    func railsRecipe() async throws {
        try await runScript("Ruby/rails_recipe.rb", with: "ruby", count: 7)
    }

    /// Whether Node.js has the driver.
    private static let hasNodePostgres = ClientProgram.succeeds("node", "-e", "require('pg')")

    @Test(
        "node-postgres inserts, reads, pages and moves rows of attached tables, also with the code of the recipe",
        .enabled(if: hasNodePostgres, "Node.js or its driver pg is missing: make dependencies installs them"))
    func nodePostgres() async throws {
        try await runScript("Node/node_postgres.js", with: "node", count: 21)
    }

    /// Runs a script that prints how many checks passed, and expects this many.
    private func runScript(_ script: String, with program: String, count: Int) async throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: script).path
        try await ClientProgram.run(program, path, count: count)
    }

    /// Runs the tests of a folder with pytest, and expects that this many pass, and are skipped because a program is missing.
    private func runTests(of folder: String, passed: Int, skipped: Int = 0) async throws {
        let project = URL(filePath: #filePath).deletingLastPathComponent().appending(path: folder).path
        let (python, environment) = (try #require(Self.python), ClientProgram.environment)
        let (isSuccess, printed) = try await withDeadline("the tests in \(folder) ended", within: ClientProgram.limit) {
            let result = try await Subprocess.run(
                .path(.init(python)),
                arguments: ["-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", "-q"],
                environment: environment, workingDirectory: .init(project), output: .string(limit: 1 << 20),
                error: .string(limit: 1 << 20))
            return (result.terminationStatus.isSuccess, result.standardOutput + result.standardError)
        }
        #expect(isSuccess, "\(printed)")
        let summary = skipped == 0 ? "\(passed) passed in " : "\(passed) passed, \(skipped) skipped in "
        #expect(printed.contains(summary), "\(printed)")
    }
}
