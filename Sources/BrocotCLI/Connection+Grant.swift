import Administration
import LibPQ
import Migrations
import Ordering

extension Connection {
    /// Runs `body`, which needs the rights of this kind of role. If a right is missing, the error contains the command with which
    /// the owner can give it. For a role that has a part of a daemon's rights, that is the command for a daemon.
    ///
    /// - Throws: What `body` throws; ``CommandFailure`` `.failed` instead of the server's 42501.
    nonisolated func advisingGrant<Value>(
        _ kind: RoleKind, _ body: () async throws -> Value
    ) async throws -> Value {
        try await advising(body) {
            let user = await parameterStatus("session_authorization") ?? "ROLE"
            let isDaemon = try? await run { connection throws(PostgresError) in
                try AccessGrants.isIncompleteDaemon(on: connection)
            }
            let kind = isDaemon == true ? RoleKind.daemon : kind
            return "As the owner of schema brocot: \(kind.grantCommand(to: user))"
        }
    }

    /// What a role must own to have all rights that a command needs.
    enum Owned: String { case schema = "schema brocot", registry = "brocot.ordered_tables" }

    /// Runs `body`, which needs the rights of the owner of schema brocot, or of the registry. If a right is missing, the error says who the owner is.
    ///
    /// - Throws: What `body` throws; ``CommandFailure`` `.failed` instead of the server's 42501.
    nonisolated func advisingOwner<Value>(
        of owned: Owned = .schema, _ body: () async throws -> Value
    ) async throws -> Value {
        try await advising(body) {
            let owner: String? = try? await run { connection throws(PostgresError) in
                try connection.query(
                    """
                    SELECT pg_catalog.pg_get_userbyid(CASE WHEN \(owned == .schema) THEN space.nspowner ELSE registry.relowner END)::pg_catalog.text
                    FROM pg_catalog.pg_namespace AS space
                    LEFT JOIN pg_catalog.pg_class AS registry
                        ON registry.relnamespace OPERATOR(pg_catalog.=) space.oid
                        AND registry.relname OPERATOR(pg_catalog.=) 'ordered_tables'::pg_catalog.name
                    WHERE space.nspname OPERATOR(pg_catalog.=) 'brocot'::pg_catalog.name
                    """
                ).first?.decode(0, as: String.self)
            }
            return """
                Run this as the owner of \(owned.rawValue)\(owner.map { " (\($0.printable))" } ?? ""), or as a member of that role.
                """
        }
    }

    /// Runs `body`, which may create a schema. If the right for that is missing, the error says who can give it.
    ///
    /// - Throws: What `body` throws; ``CommandFailure`` `.failed` instead of the server's 42501, if the role may create no schema.
    nonisolated func advisingCreation<Value>(
        orElse alternative: String, _ body: () async throws -> Value
    ) async throws -> Value {
        try await advising(body) {
            let mayCreate: Bool? = try? await run { connection throws(PostgresError) in
                try connection.query(
                    "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')"
                ).single().decode(0, as: Bool.self)
            }
            guard mayCreate == false else { return nil }
            return "As the owner of the database: GRANT CREATE ON DATABASE … TO this role. \(alternative)"
        }
    }

    /// Runs `body`. If a right is missing, the error contains the advice; if there is none, the error stays as it is.
    private nonisolated func advising<Value>(
        _ body: () async throws -> Value, _ advice: () async -> String?
    ) async throws -> Value {
        do {
            return try await body()
        } catch {
            guard let serverError = Self.serverError(in: error), serverError.sqlState == .insufficientPrivilege,
                let advice = await advice()
            else { throw error }
            throw CommandFailure(
                .failed, "\(serverError.message) (SQLSTATE \(SQLState.insufficientPrivilege)).\n→ \(advice)")
        }
    }

    /// The error of the database or the connection that another module's error contains; nil if it contains none.
    static func serverError(in error: any Error) -> PostgresError? {
        switch error {
        case let error as PostgresError: error
        case let error as AttachError: error.serverError
        case MigrationError.database(let error), OrderingError.database(let error): error
        default: nil
        }
    }
}
