import LibPQ
import TestPostgres

/// Roles with what `brocot grant` gives them.
enum GrantedRole {
    /// Gives `body` a role of each of these kinds, and drops them afterwards.
    static func with(
        _ kinds: String..., owner: Connection, _ body: ([TestRole]) async throws -> Void
    ) async throws {
        try await TestRole.with(kinds, owner: owner) { roles in
            for (kind, role) in zip(kinds, roles) {
                let granted = try await BrocotProcess.run("grant", kind, role.name)
                precondition(granted.exitCode == 0, granted.errors)
            }
            try await body(roles)
        }
    }
}
