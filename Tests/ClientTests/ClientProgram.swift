import Foundation
import Subprocess
import TestPostgres
import Testing

/// Programs that run the clients.
enum ClientProgram {
    /// Each of these takes seconds. A busy machine may need minutes.
    static let limit = Duration.seconds(600)

    /// Runs a program that prints how many checks passed, and expects this many.
    static func run(_ program: String, _ arguments: String..., in folder: String? = nil, count: Int) async throws {
        let environment = environment
        let (isSuccess, printed) = try await withDeadline("\(program) ended", within: limit) {
            let result = try await Subprocess.run(
                .name(program), arguments: .init(arguments), environment: environment,
                workingDirectory: folder.map { .init($0) }, output: .string(limit: 1 << 20),
                error: .string(limit: 1 << 20))
            return (result.terminationStatus.isSuccess, result.standardOutput + "\n" + result.standardError)
        }
        #expect(isSuccess, "\(printed)")
        #expect(printed.split(separator: "\n").contains("\(count) passed"), "\(printed)")
    }

    /// Whether a command can be run and succeeds.
    static func succeeds(_ command: String...) -> Bool {
        let probe = Process()
        probe.executableURL = URL(filePath: "/usr/bin/env")
        probe.arguments = ["timeout", "120"] + command
        probe.environment = additions.reduce(into: ProcessInfo.processInfo.environment) {
            $0[$1.key.rawValue] = $1.value
        }
        (probe.standardOutput, probe.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        guard (try? probe.run()) != nil else { return false }
        probe.waitUntilExit()
        return probe.terminationStatus == 0
    }

    static var environment: Environment {
        .inherit
            .updating(["DATABASE_URL": TestDatabase.current.loopbackURL, "BROCOT": BrocotProgram.path])
            .updating(additions)
    }

    /// Where `.ci/dependencies` puts the driver of Node.js, and Debian the packages of Go.
    private static let additions: [Environment.Key: String] = [
        "NODE_PATH": URL(filePath: #filePath)
            .appending(path: "../../../.build/clients/node/usr/share/nodejs").standardized.path,
        "GO111MODULE": "off", "GOFLAGS": "", "GOPATH": "/usr/share/gocode", "PYTHONDONTWRITEBYTECODE": "1",
    ]
}
