import LibPQ

/// A role that has what `brocot grant` of its name gives it, and nothing else.
enum FaultRunRole: String, CaseIterable, Sendable {
    case daemon, requester

    var name: String { "granted_\(rawValue)" }

    /// Makes it, and gives it its rights.
    func create(password: String, owner: Connection, url: String) async throws {
        try await owner.execute("CREATE ROLE \(identifier: name) LOGIN PASSWORD \(literal: password)")
        try await OwnerCommand.run("grant", rawValue, name, url: url)
    }
}
