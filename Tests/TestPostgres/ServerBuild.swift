import LibPQ

/// What the server programs that the tests use were built with. A test for something that they lack is skipped:
///
/// ```swift
/// @Test(.database, .enabled("the server knows no collations of ICU") { try await ServerBuild.knowsICU() })
/// ```
package enum ServerBuild {
    /// Whether it has collations of the library ICU, such as nondeterministic ones.
    package static func knowsICU() async throws -> Bool {
        try await icu.value
    }

    /// Whether it can encrypt connections.
    package static func knowsTLS() async throws -> Bool {
        try await tls.value
    }

    /// Whether it has constraints that it does not enforce, as from PostgreSQL 18 on.
    package static func knowsUnenforcedConstraints() async throws -> Bool { try await isAtLeast(180_000) }

    /// Whether its publications can send some rows or columns of a table only, as from PostgreSQL 15 on.
    package static func publishesPartsOfTables() async throws -> Bool { try await isAtLeast(150_000) }

    /// Whether its publications can send generated columns, as from PostgreSQL 18 on.
    package static func publishesGeneratedColumns() async throws -> Bool { try await isAtLeast(180_000) }

    /// Whether the extension pgTAP is installed.
    package static func hasPgTAP() async throws -> Bool {
        try await pgTAP.value
    }

    /// Whether it knows a setting, which may be newer than the server.
    package static func knows(setting: String) async throws -> Bool {
        try await isTrue("SELECT EXISTS (SELECT FROM pg_settings WHERE name = \(setting))")
    }

    private static let icu = Task {
        try await isTrue("SELECT EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu')")
    }
    private static let tls = Task { try await isTrue("SELECT current_setting('ssl_library') <> ''") }
    private static let pgTAP = Task {
        try await isTrue("SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pgtap')")
    }

    private static let version = Task { () async throws -> Int in
        let connection = try await SharedServer.shared.connect()
        return try await connection.query("SELECT current_setting('server_version_num')::integer").single().decode(0)
    }

    /// Whether it has at least this version, as in `server_version_num`.
    private static func isAtLeast(_ leastVersion: Int) async throws -> Bool {
        try await version.value >= leastVersion
    }

    private static func isTrue(_ question: SQL) async throws -> Bool {
        let connection = try await SharedServer.shared.connect()
        return try await connection.query(question).single().decode(0)
    }
}
