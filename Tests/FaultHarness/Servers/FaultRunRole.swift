import LibPQ

/// A role that has only the rights of `brocot grant` for its kind.
enum FaultRunRole: String, CaseIterable, Sendable {
    case daemon, requester

    var name: String { "granted_\(rawValue)" }

    /// Creates the role, and grants its rights.
    func create(password: String, owner: Connection, url: String) async throws {
        try await owner.execute("CREATE ROLE \(identifier: name) LOGIN PASSWORD \(literal: password)")
        try await OwnerCommand.run("grant", rawValue, name, url: url)
    }
}
