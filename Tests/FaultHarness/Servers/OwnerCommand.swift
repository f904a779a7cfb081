import FoundationEssentials
import Subprocess
import TestPostgres

/// A `brocot` command that the owner of the schema runs. It must succeed.
enum OwnerCommand {
    static func run(_ arguments: String..., url: String) async throws {
        let result = try await withDeadline("this ended: brocot \(arguments.joined(separator: " "))") {
            try await Subprocess.run(
                .path(.init(BrocotProgram.path)), arguments: Arguments(arguments),
                environment: .inherit.updating(["BROCOT_DATABASE_URL": url]), output: .discarded,
                error: .string(limit: 1 << 16))
        }
        guard result.terminationStatus.isSuccess else {
            throw FaultFailure(
                description: "brocot \(arguments.joined(separator: " ")) failed: \(result.standardError)")
        }
    }
}
