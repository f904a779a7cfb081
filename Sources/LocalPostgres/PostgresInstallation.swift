import FoundationEssentials
import Subprocess

/// The folder that holds PostgreSQL's server programs, and their version.
package struct PostgresInstallation: Sendable, Hashable {
    /// The oldest major version that Brocot supports.
    static let oldestSupportedVersion = 14

    /// The folder in which Debian and Ubuntu install each major version's programs, as `<folder>/<major>/bin`.
    static let debianDirectory = "/usr/lib/postgresql"

    /// The folder of `initdb`, `postgres` and the client programs, without symbolic links.
    package let directory: String
    /// The major version, for example 15.
    package let majorVersion: Int

    /// Finds the programs: in `BROCOT_POSTGRES_BIN` if that is set, else on `PATH`, else the newest below
    /// `/usr/lib/postgresql`.
    ///
    /// - Throws: ``LocalPostgresError`` `.programsNotFound`, `.programMissing` or `.unsupportedVersion`.
    package static func locate(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws(LocalPostgresError) -> PostgresInstallation {
        let directory = try findDirectory(environment: environment)
        let banner = await versionBanner(of: directory)
        guard let majorVersion = majorVersion(inBanner: banner), majorVersion >= oldestSupportedVersion else {
            throw .unsupportedVersion(directory: directory, version: banner.isEmpty ? "no version" : banner)
        }
        return PostgresInstallation(directory: directory, majorVersion: majorVersion)
    }

    /// The path of one of the installation's programs, for example `pg_dump`.
    package func program(_ name: String) -> String {
        "\(directory)/\(name)"
    }

    private static func findDirectory(
        environment: [String: String]
    ) throws(LocalPostgresError) -> String {
        if let chosen = environment["BROCOT_POSTGRES_BIN"], !chosen.isEmpty {
            for program in ["initdb", "postgres"] where !isExecutable("\(chosen)/\(program)") {
                throw .programMissing(program: program, directory: chosen)
            }
            return programDirectory(chosen)
        }
        let onPath = (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for candidate in onPath + debianDirectories()
        where isExecutable("\(candidate)/initdb") && isExecutable("\(candidate)/postgres") {
            return programDirectory(candidate)
        }
        throw .programsNotFound(searched: ["PATH", "\(debianDirectory)/*/bin"])
    }

    private static func debianDirectories() -> [String] {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: debianDirectory)) ?? []
        return versions.compactMap(Int.init).sorted(by: >).map { "\(debianDirectory)/\($0)/bin" }
    }

    private static func isExecutable(_ path: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: path)
    }

    /// The folder that contains `postgres` itself. The other programs are in that folder, not beside a symbolic link.
    private static func programDirectory(_ directory: String) -> String {
        URL(filePath: "\(directory)/postgres").resolvingSymlinksInPath().deletingLastPathComponent().path
    }

    private static func versionBanner(of directory: String) async -> String {
        let result = try? await run(
            .path(.init("\(directory)/postgres")), arguments: ["--version"],
            output: .string(limit: 4096), error: .discarded)
        return (result?.standardOutput ?? "").split(separator: "\n").first.map(String.init) ?? ""
    }

    /// Reads `15` from `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
    static func majorVersion(inBanner banner: String) -> Int? {
        guard let marker = banner.firstRange(of: "(PostgreSQL) ") else { return nil }
        return Int(banner[marker.upperBound...].prefix { $0.isASCII && $0.isNumber })
    }
}
