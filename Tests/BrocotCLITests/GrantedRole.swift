import Administration
import LibPQ
import TestPostgres

/// Roles with what `brocot grant` gives them.
enum GrantedRole {
    /// Gives `body` a role of each of these kinds, and drops them afterwards.
    static func with(
        _ kinds: RoleKind..., owner: Connection, _ body: ([TestRole]) async throws -> Void
    ) async throws {
        try await TestRole.with(kinds.map(\.rawValue), owner: owner) { roles in
            for (kind, role) in zip(kinds, roles) { try await grant(kind, to: role, by: owner) }
            try await body(roles)
        }
    }

    static func grant(_ kind: RoleKind, to role: TestRole, by owner: Connection) async throws {
        let missing = try await owner.run { connection throws in
            try AccessGrants.grant(kind, to: [role.name], on: connection)
        }
        precondition(missing.isEmpty, "\(missing)")
    }
}
