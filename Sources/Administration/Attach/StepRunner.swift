import LibPQ
import Logging
import Ordering

/// Runs the steps of plans, with short waits for locks: a statement that waits for an exclusive lock also makes all later
/// statements of other sessions wait.
struct StepRunner: Sendable {
    /// After so many attempts, about five seconds, a notice says why nothing happens.
    private static let attemptsBeforeNotice = 10
    /// From this attempt on, an internal error of the server ends the step. Other sessions may cause such an error a few times in a row, for example
    /// if they change the same row of the catalog. If it comes more often, the server has a permanent fault.
    private static let lastAttemptAfterInternalError = 10
    /// Every fifth attempt waits longer: the server cancels an autovacuum only for a session that has waited for
    /// `deadlock_timeout`.
    private static let attemptsPerLongWait = 5
    /// The pauses differ, so that two commands don't hinder each other again and again.
    private static let millisecondsBetweenAttempts = 100...500

    let connection: Connection
    let logger: Logger
    /// How long a statement waits for a lock behind which others would have to wait.
    let lockTimeout: Duration
    /// How often such a statement is tried.
    let attempts: Int

    /// Runs a step. A transaction that failed because of another session's lock or a deadlock is tried again.
    ///
    /// - Parameters:
    ///   - step: The step.
    ///   - table: The names of the table that it changes.
    /// - Throws: ``AttachError/lockTimeout(step:holders:)``; ``AttachError/stepFailed(step:_:)``; ``AttachError/cancelled``;
    ///   ``AttachError/database(_:)`` if the server can't say who has the lock.
    func run(_ step: AttachStep, on table: OrderNames) async throws(AttachError) {
        for attempt in 1...attempts {
            do throws(PostgresError) {
                return try await connection.run { [lockTimeout] connection throws(PostgresError) in
                    try Self.run(
                        step, on: table, lockTimeout: lockTimeout,
                        isPatient: attempt % Self.attemptsPerLongWait == 0, on: connection)
                }
            } catch {
                guard error.code != .cancelled else { throw .cancelled }
                let isFault = error.sqlState == .internalError && attempt >= Self.lastAttemptAfterInternalError
                guard step.execution != .alone, !isFault, error.sqlState == .lockNotAvailable || error.isConflict
                else { throw .stepFailed(step: step.purpose, error) }
            }
            if attempt == Self.attemptsBeforeNotice {
                let holders = try await holders(of: step, on: table)
                logger.notice(
                    "could not \(step.purpose) yet: other sessions keep a table locked that this step needs",
                    metadata: ["holder": "\(holders.text)"])
            }
            let pause = Duration.milliseconds(Int.random(in: Self.millisecondsBetweenAttempts))
            do { try await Task.sleep(for: pause) } catch { throw .cancelled }
        }
        throw .lockTimeout(step: step.purpose, holders: try await holders(of: step, on: table))
    }

    /// Who keeps the table locked for longer than an attempt waits.
    private func holders(
        of step: AttachStep, on table: OrderNames
    ) async throws(AttachError) -> [DescribedLockHolder] {
        try await DescribedLockHolder.read(
            LockHolderStatements.blocking(step.lock, of: table, for: lockTimeout), on: connection)
    }

    /// A patient attempt waits until the server has cancelled an autovacuum of the table.
    private static func run(
        _ step: AttachStep, on table: OrderNames, lockTimeout: Duration, isPatient: Bool,
        on connection: isolated Connection
    ) throws(PostgresError) {
        guard step.execution != .alone else {
            try connection.execute(SQL(unsafeRaw: step.statements[0]))
            return
        }
        // With this lock mode, writers don't queue behind the waiting statement. So its wait has no limit.
        let limit =
            step.lock == .shareUpdateExclusive
            ? "0"
            : "\(lockTimeout.milliseconds)"
        let firesTriggers = step.execution == .inSessionsSearchPath
        let common =
            firesTriggers
            ? [TransactionSettings.printedNames] + TransactionSettings.ofWholeTables : TransactionSettings.ofTables
        let settings = common + [("lock_timeout", limit), ("client_min_messages", "warning")]
        try connection.transaction(settings: settings) {
            connection throws(PostgresError) in
            // An UPDATE, which fires triggers, does not wait for an autovacuum.
            if isPatient && !firesTriggers && step.lock != .shareUpdateExclusive {
                _ = try connection.query(LockHolderStatements.waitForCancelledAutovacuum(of: table))
            }
            if step.actor == .registryOwner { try connection.execute(script: Self.becomeRegistryOwner) }
            for statement in step.statements { try connection.execute(SQL(unsafeRaw: statement)) }
        }
    }

    /// New objects in schema `brocot` belong to the owner of the others, even if another role attaches the table. A function that runs with
    /// its owner's rights must not run with the rights of a superuser.
    static let becomeRegistryOwner = """
        DO $$
        BEGIN
            EXECUTE (SELECT format('SET LOCAL ROLE %I', pg_get_userbyid(relowner))
                FROM pg_class WHERE oid = 'brocot.ordered_tables'::regclass);
        END
        $$
        """
}
