import LibPQ

/// A role of the current test that can log in. Roles belong to the whole server, so its name contains the test database's name.
package struct TestRole: Sendable {
    package let name: String

    /// The test's database, as this role.
    package var url: String {
        let encoded = name.replacing(" ", with: "%20").replacing("\"", with: "%22")
        return TestDatabase.current.url.replacing("//postgres@", with: "//\(encoded)@")
    }

    private init(_ prefix: String) { name = "\(prefix)_of_\(TestDatabase.current.name)" }

    /// Gives `body` a new role for each of these prefixes of names. Afterwards it drops the roles, and all that they own.
    package static func with<Result>(
        _ prefixes: [String], owner: Connection, _ body: ([TestRole]) async throws -> Result
    ) async throws -> Result {
        let roles = prefixes.map(TestRole.init)
        for role in roles { try await owner.execute("CREATE ROLE \(identifier: role.name) LOGIN") }
        do {
            let result = try await body(roles)
            try await drop(roles, by: owner)
            return result
        } catch {
            try await drop(roles, by: owner)
            throw error
        }
    }

    /// Gives `body` a new role: see ``with(_:owner:_:)-([String],_,_)``.
    package static func with<Result>(
        _ prefix: String, owner: Connection, _ body: (TestRole) async throws -> Result
    ) async throws -> Result {
        try await with([prefix], owner: owner) { try await body($0[0]) }
    }

    private static func drop(_ roles: [TestRole], by owner: Connection) async throws {
        // The body may have left a transaction, or one of these roles.
        try await owner.execute(script: "ROLLBACK; RESET SESSION AUTHORIZATION; RESET ROLE")
        for role in roles {
            try await owner.execute("DROP OWNED BY \(identifier: role.name) CASCADE")
            try await owner.execute("DROP ROLE \(identifier: role.name)")
        }
    }

    /// A new connection to the test's database, as this role.
    package func connect() async throws -> Connection { try await TestDatabase.connect(to: url) }
}
