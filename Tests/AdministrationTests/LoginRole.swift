import Administration
import LibPQ
import TestPostgres

/// Roles with the rights of a kind, which can log in.
enum LoginRole {
    /// Gives `body` a new role with the rights of a kind, and a connection as this role. Drops the role afterwards.
    static func with(
        _ kind: RoleKind, _ body: (TestRole, Connection) async throws -> Void
    ) async throws {
        let owner = try await TestDatabase.current.observer
        // A name that has to be quoted.
        try await TestRole.with("\(kind.rawValue) \"quoted\"", owner: owner) { role in
            try await GrantedRole.grant(kind, to: role, by: owner)
            try await body(role, try await role.connect())
        }
    }
}

/// An ordered table of the user, with a column that Brocot doesn't use.
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
