import Administration
import LibPQ

/// Roles with what `brocot grant` gives them.
package enum GrantedRole {
    /// Gives `body` a role of each of these kinds, and drops them afterwards.
    package static func with<Result>(
        _ kinds: RoleKind..., owner: Connection, _ body: ([TestRole]) async throws -> Result
    ) async throws -> Result {
        try await TestRole.with(kinds.map(\.rawValue), owner: owner) { roles in
            for (kind, role) in zip(kinds, roles) { try await grant(kind, to: role, by: owner) }
            return try await body(roles)
        }
    }

    package static func grant(_ kind: RoleKind, to role: TestRole, by owner: Connection) async throws {
        let missing = try await AccessGrants.grant(kind, to: [role.name], on: owner)
        precondition(missing.isEmpty, "\(missing)")
    }
}
