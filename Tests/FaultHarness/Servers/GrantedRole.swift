import FoundationEssentials
import LibPQ
import Subprocess

/// A role that has what `brocot grant` of its name gives it, and nothing else.
enum GrantedRole: String, CaseIterable, Sendable {
    case daemon, requester

    var name: String { "granted_\(rawValue)" }

    /// Makes it, and gives it its rights.
    func create(password: String, owner: Connection, url: String) async throws {
        try await owner.execute("CREATE ROLE \(identifier: name) LOGIN PASSWORD \(literal: password)")
        let result = try await Subprocess.run(
            .path(.init(DaemonUnderFaults.program)), arguments: ["grant", rawValue, name],
            environment: .inherit.updating(["BROCOT_DATABASE_URL": url]), output: .discarded,
            error: .string(limit: 1 << 16))
        guard result.terminationStatus.isSuccess else {
            throw FaultFailure(description: "brocot grant \(rawValue) failed: \(result.standardError)")
        }
    }
}
