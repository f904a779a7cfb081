import LibPQ
import Logging
import Administration
import TestPostgres

/// A role that can log in, of which a test's database is the only one. Roles are the whole server's, so it has the
/// database's name in its own.
struct LoginRole {
    let name: String
    /// The test's database, as this role.
    let url: String

    /// Gives `body` a new role with what a kind of role needs, and drops it afterwards.
    static func with(
        _ kind: AccessRole, _ body: (LoginRole, Connection) async throws -> Void
    ) async throws {
        let database = TestDatabase.current
        // A name that has to be quoted.
        let role = LoginRole(
            name: "\(kind.rawValue) \"of\" \(database.name)",
            url: database.url.replacing(
                "postgresql://postgres@", with: "postgresql://\(kind.rawValue)%20%22of%22%20\(database.name)@"))
        let owner = try await database.connect()
        try await owner.execute("CREATE ROLE \(identifier: role.name) LOGIN")
        do {
            let missing = try await owner.run { connection throws in
                try AccessGrants.grant(kind, to: [role.name], on: connection)
            }
            precondition(missing.isEmpty)
            try await body(role, try await role.connect())
        } catch {
            try await role.drop(by: owner)
            throw error
        }
        try await role.drop(by: owner)
    }

    func connect() async throws -> Connection {
        try await Connection.connect(
            ConnectionParameters(url: url), logger: Logger(label: "LoginRole") { _ in SwiftLogNoOpLogHandler() })
    }

    private func drop(by owner: Connection) async throws {
        try await owner.execute("DROP OWNED BY \(identifier: name)")
        try await owner.execute("DROP ROLE \(identifier: name)")
    }
}

/// An ordered table of the user's own, with a column that is none of Brocot's business.
enum Cards {
    static func create(on connection: Connection) async throws {
        try await connection.execute(
            script: """
                CREATE SCHEMA "the app";
                CREATE TABLE "the app"."Cards" (
                    id bigint PRIMARY KEY, "board id" bigint NOT NULL, title text, rank_num bigint, rank_den bigint,
                    rank numeric,
                    UNIQUE ("board id", rank) DEFERRABLE
                );
                INSERT INTO "the app"."Cards" (id, "board id", title) SELECT n, 1, 'secret' FROM generate_series(1, 3) AS n;
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
                VALUES ('the app.Cards', 'the app', 'Cards', '{"board id"}', 'id', false);
                """)
    }
}
