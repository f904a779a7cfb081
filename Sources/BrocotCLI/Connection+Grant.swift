import Administration
import LibPQ
import Migrations
import Ordering

extension Connection {
    /// Runs `body`, which needs the rights of this kind of role. If a right is missing, the error contains the command with which
    /// the owner can give it.
    ///
    /// - Throws: What `body` throws; ``CommandFailure`` `.failed` instead of the server's 42501.
    nonisolated func advisingGrant<Value>(
        _ kind: AccessRole, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch {
            guard let refusal = Self.serverError(in: error), refusal.sqlState == .insufficientPrivilege else {
                throw error
            }
            let user = await parameterStatus("session_authorization") ?? "ROLE"
            throw CommandFailure(
                .failed,
                """
                \(refusal.message) (SQLSTATE \(SQLState.insufficientPrivilege)).
                → As the owner of schema brocot: \(kind.grantCommand(to: user))
                """)
        }
    }

    /// Runs `body`, which may create a schema. If the right for that is missing, the error says who can give it.
    ///
    /// - Throws: What `body` throws; ``CommandFailure`` `.failed` instead of the server's 42501 for the database.
    nonisolated func advisingCreation<Value>(
        orElse alternative: String, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch {
            guard let refusal = Self.serverError(in: error), refusal.sqlState == .insufficientPrivilege,
                let mayCreate: Bool = try? await query(
                    "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')"
                ).single().decode(0), !mayCreate
            else { throw error }
            throw CommandFailure(
                .failed,
                """
                \(refusal.message) (SQLSTATE \(SQLState.insufficientPrivilege)).
                → As the owner of the database: GRANT CREATE ON DATABASE … TO this role. \(alternative)
                """)
        }
    }

    /// The error of the database or the connection that another module's error contains; nil if it contains none.
    static func serverError(in error: any Error) -> PostgresError? {
        switch error {
        case let error as PostgresError: error
        case MigrationError.database(let error), OrderingError.database(let error): error
        default: nil
        }
    }
}
