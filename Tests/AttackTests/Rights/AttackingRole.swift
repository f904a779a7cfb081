import Administration
import LibPQ
import TestPostgres

/// The attacker: a role of each kind that `brocot grant` knows, and one without any grant.
enum AttackingRole: String, CaseIterable, Sendable {
    case nobody, reader, requester, mover, daemon

    /// Gives `body` the name of a new role of this kind, which may log in, and drops the role afterwards.
    func with<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let owner = try await TestDatabase.current.connect()
        return try await TestRole.with(rawValue, owner: owner) { role in
            if let kind = RoleKind(rawValue: rawValue) {
                let missing = try await AccessGrants.grant(kind, to: [role.name], on: owner)
                precondition(missing.isEmpty)
            }
            return try await body(role.name)
        }
    }

    /// A new connection to the test's database as the role of this name.
    static func connect(as name: String) async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("SET SESSION AUTHORIZATION \(identifier: name)")
        return connection
    }
}
