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
            let user = try? await run { connection throws(PostgresError) in
                try AccessGrants.currentRole(on: connection)
            }
            let isDaemon = try? await run { connection throws(PostgresError) in
                try AccessGrants.isIncompleteDaemon(on: connection)
            }
            let kind = isDaemon == true ? RoleKind.daemon : kind
            return "As the owner of schema brocot: \(kind.grantCommand(to: user ?? "ROLE"))"
        }
    }

    /// Runs `body`, which needs the rights of the owner of schema brocot, or of the registry. If a right is missing, the error says who the owner is.
    ///
    /// - Throws: What `body` throws; ``CommandFailure`` `.failed` instead of the server's 42501.
    nonisolated func advisingOwner<Value>(
        of owned: OwnedObject = .schema, _ body: () async throws -> Value
    ) async throws -> Value {
        try await advising(body) {
            let owner = try? await run { connection throws(PostgresError) in try owned.owner(on: connection) }
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
            let mayCreate = try? await run { connection throws(PostgresError) in
                try AccessGrants.mayCreateSchemas(on: connection)
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
