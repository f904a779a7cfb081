import LibPQ
import Logging
import Ordering

/// Runs the steps of plans, with short waits for locks: a statement that waits for an exclusive lock also makes all later
/// statements of other sessions wait.
package struct Attacher: Sendable {
    private let connection: Connection
    private let logger: Logger
    /// How long a statement waits for a lock behind which others would have to wait.
    private let lockTimeout: Duration
    /// How often such a statement is tried.
    private let attempts: Int

    package init(
        connection: Connection, logger: Logger, lockTimeout: Duration = .milliseconds(200), attempts: Int = 300
    ) {
        self.connection = connection
        self.logger = logger
        self.lockTimeout = lockTimeout
        self.attempts = attempts
    }

    /// After so many attempts, about five seconds, a notice says why nothing happens.
    private static let attemptsBeforeNotice = 10

    /// The key of the advisory lock: the first eight bytes of SHA-256 of `brocot.attach`.
    static let lockKey: Int64 = 9_047_377_531_611_987_727

    private static let tryLock: SQL = "SELECT pg_catalog.pg_try_advisory_lock(\(lockKey))"
    private static let unlock: SQL = "SELECT pg_catalog.pg_advisory_unlock(\(lockKey))"

    /// The plan to attach a table, with the condition of visibility as the registry has it.
    package func plan(_ definition: OrderDefinition) async throws(AttachError) -> AttachPlan {
        try AttachPlan(definition, on: try await describe(definition.names, listColumns: definition.listColumns))
    }

    /// The plan to detach a table; nil if it is not registered.
    package func planToDetach(
        _ names: OrderNames, droppingColumns: Bool
    ) async throws(AttachError) -> DetachPlan? {
        try await databaseErrors {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction(settings: TableReader.settings) { connection throws(PostgresError) in
                    guard let registered = try TableReader.registered(names.orderedTable, on: connection) else {
                        return nil
                    }
                    let table = try TableReader.describe(
                        names, listColumns: registered.definition.listColumns, on: connection)
                    return DetachPlan(names, on: table, dropsColumns: droppingColumns)
                }
            }
        }
    }

    /// - Throws: ``AttachError/refused(_:)`` if there is no such table.
    package func describe(
        _ names: OrderNames, listColumns: [String]
    ) async throws(AttachError) -> TableDescription {
        let table = try await databaseErrors {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction(settings: TableReader.settings) { connection throws(PostgresError) in
                    try TableReader.describe(names, listColumns: listColumns, on: connection)
                }
            }
        }
        guard let table else { throw .refused("there is no table \(names.schema).\(names.table)") }
        return table
    }

    /// Runs `body` while no other command attaches or detaches a table. The lock is tried in a loop: a session that waited for
    /// the lock in the server would block CREATE INDEX CONCURRENTLY of the command that has the lock.
    package func exclusively(_ body: () async throws(AttachError) -> Void) async throws(AttachError) {
        try await lock()
        do throws(AttachError) {
            try await body()
        } catch {
            try? await unlock()
            throw error
        }
        try await unlock()
    }

    private func lock() async throws(AttachError) {
        try await databaseErrors {
            try await connection.execute(script: "SET statement_timeout = 0; SET lock_timeout = 0")
            var isWaiting = false
            while try await !connection.query(Self.tryLock).single().decode(0, as: Bool.self) {
                if !isWaiting { logger.notice("waiting for another brocot attach or detach to end") }
                isWaiting = true
                try await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    private func unlock() async throws(AttachError) {
        try await databaseErrors { _ = try await connection.query(Self.unlock) }
    }

    /// - Throws: ``AttachError/lockTimeout(step:)``; ``AttachError/database(_:)``; ``AttachError/cancelled``.
    package func run(_ step: AttachStep) async throws(AttachError) {
        for attempt in 1...attempts {
            do throws(PostgresError) {
                return try await connection.run { [lockTimeout] connection throws(PostgresError) in
                    try Self.run(step, lockTimeout: lockTimeout, on: connection)
                }
            } catch {
                guard step.isTransactional, error.sqlState == .lockNotAvailable else { throw .database(error) }
            }
            if attempt == Self.attemptsBeforeNotice {
                logger.notice("could not \(step.purpose) yet: other sessions keep the table locked")
            }
            do { try await Task.sleep(for: .milliseconds(Int.random(in: 100...500))) } catch { throw .cancelled }
        }
        throw .lockTimeout(step: step.purpose)
    }

    private static func run(
        _ step: AttachStep, lockTimeout: Duration, on connection: isolated Connection
    ) throws(PostgresError) {
        guard step.isTransactional else {
            try connection.execute(SQL(unsafeRaw: step.statements[0]))
            return
        }
        // A statement behind which writers don't have to wait may wait for any time.
        let limit =
            step.lock == .shareUpdateExclusive
            ? "0"
            : "\(lockTimeout.milliseconds)"
        try connection.transaction(settings: TableReader.settings + [("lock_timeout", limit)]) {
            connection throws(PostgresError) in
            if step.actor == .schemaOwner { try connection.execute(script: Self.becomeSchemaOwner) }
            for statement in step.statements { try connection.execute(SQL(unsafeRaw: statement)) }
        }
    }

    /// New objects in schema `brocot` belong to the schema's owner, even if another role attaches the table. A function that runs with
    /// its owner's rights must not run with the rights of a superuser.
    static let becomeSchemaOwner = """
        DO $$
        BEGIN
            EXECUTE (SELECT format('SET LOCAL ROLE %I', pg_get_userbyid(relowner))
                FROM pg_class WHERE oid = 'brocot.ordered_tables'::regclass);
        END
        $$
        """
}

/// Turns errors of the database into ``AttachError``.
func databaseErrors<Value>(_ body: () async throws -> Value) async throws(AttachError) -> Value {
    do {
        return try await body()
    } catch let error as AttachError {
        throw error
    } catch let error as PostgresError {
        throw .database(error)
    } catch {
        throw .cancelled
    }
}
