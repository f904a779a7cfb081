import Administration
import LibPQ
import TestPostgres

/// The attacker: a role of each kind that `brocot grant` knows, and one without any grant.
enum AttackingRole: String, CaseIterable, Sendable {
    case nobody, reader, requester, mover, daemon

    /// Gives `body` the name of a new role of this kind, which may log in, and drops the role afterwards.
    func with<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        // Roles belong to the whole server, so the test database's name is a part of the role's.
        let name = "\(rawValue)_of_\(TestDatabase.current.name)"
        let owner = try await TestDatabase.current.connect()
        try await owner.execute("CREATE ROLE \(identifier: name) LOGIN")
        do {
            if let kind = AccessRole(rawValue: rawValue) {
                let missing = try await owner.run { connection throws in
                    try AccessGrants.grant(kind, to: [name], on: connection)
                }
                precondition(missing.isEmpty)
            }
            let result = try await body(name)
            try await Self.drop(name, by: owner)
            return result
        } catch {
            try await Self.drop(name, by: owner)
            throw error
        }
    }

    private static func drop(_ name: String, by owner: Connection) async throws {
        try await owner.execute("DROP OWNED BY \(identifier: name) CASCADE")
        try await owner.execute("DROP ROLE \(identifier: name)")
    }

    /// A new connection to the test's database as the role of this name.
    static func connect(as name: String) async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("SET SESSION AUTHORIZATION \(identifier: name)")
        return connection
    }
}
