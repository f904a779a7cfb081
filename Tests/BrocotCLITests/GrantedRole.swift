import LibPQ
import TestPostgres

/// A role that can log in, with what `brocot grant` gives it. Roles are the whole server's, so it has the test database's
/// name in its own.
struct GrantedRole {
    let name: String
    /// The test's database, as this role.
    let url: String

    /// Gives `body` a role of each of these kinds, as the owner, and drops them afterwards.
    static func with(
        _ kinds: String..., owner: Connection, _ body: ([GrantedRole]) async throws -> Void
    ) async throws {
        let database = TestDatabase.current
        let roles = kinds.map { kind in
            let name = "\(kind)_of_\(database.name)"
            return GrantedRole(name: name, url: database.url.replacing("//postgres@", with: "//\(name)@"))
        }
        for role in roles { try await owner.execute("CREATE ROLE \(identifier: role.name) LOGIN") }
        do {
            for (kind, role) in zip(kinds, roles) {
                let granted = try await BrocotProcess.run("grant", kind, role.name)
                precondition(granted.exitCode == 0, granted.errors)
            }
            try await body(roles)
        } catch {
            try await drop(roles, by: owner)
            throw error
        }
        try await drop(roles, by: owner)
    }

    private static func drop(_ roles: [GrantedRole], by owner: Connection) async throws {
        for role in roles {
            try await owner.execute("DROP OWNED BY \(identifier: role.name)")
            try await owner.execute("DROP ROLE \(identifier: role.name)")
        }
    }
}
