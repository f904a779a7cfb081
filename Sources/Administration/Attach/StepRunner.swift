import LibPQ
import Logging
import Ordering

/// Runs the steps of plans, with short waits for locks: a statement that waits for an exclusive lock also makes all later
/// statements of other sessions wait.
struct StepRunner: Sendable {
    /// After so many attempts, about five seconds, a notice says why nothing happens.
    private static let attemptsBeforeNotice = 10
    /// How often a step is tried that fails by an internal error of the server.
    private static let mostConflicts = attemptsBeforeNotice
    /// The server cancels an autovacuum that is in the way, but only after a longer wait than the usual one.
    private static let attemptsPerLongWait = 5
    /// The pauses differ, so that two commands don't hinder each other again and again.
    private static let millisecondsBetweenAttempts = 100...500

    let connection: Connection
    let logger: Logger
    /// How long a statement waits for a lock behind which others would have to wait.
    let lockTimeout: Duration
    /// How often such a statement is tried.
    let attempts: Int

    /// A transaction that another session hindered by a lock, or that was the victim of a deadlock, is tried again.
    ///
    /// - Parameters:
    ///   - step: The step.
    ///   - table: The names of the table that it changes.
    /// - Throws: ``AttachError/lockTimeout(step:)``; ``AttachError/stepFailed(step:_:)``; ``AttachError/cancelled``.
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
                // Other sessions cause an internal error some times in succession at most. Otherwise the server has a fault that stays.
                let isFault = error.sqlState == .internalError && attempt >= Self.mostConflicts
                guard step.execution != .alone, !isFault, error.sqlState == .lockNotAvailable || error.isConflict
                else { throw .stepFailed(step: step.purpose, error) }
            }
            if attempt == Self.attemptsBeforeNotice {
                logger.notice("could not \(step.purpose) yet: other sessions keep the table locked")
            }
            let pause = Duration.milliseconds(Int.random(in: Self.millisecondsBetweenAttempts))
            do { try await Task.sleep(for: pause) } catch { throw .cancelled }
        }
        throw .lockTimeout(step: step.purpose)
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
        // A statement behind which writers don't have to wait may wait for any time.
        let limit =
            step.lock == .shareUpdateExclusive
            ? "0"
            : "\(lockTimeout.milliseconds)"
        let settings = TransactionSettings.ofTables + [("lock_timeout", limit), ("client_min_messages", "warning")]
        try connection.transaction(settings: settings) {
            connection throws(PostgresError) in
            if isPatient && step.lock != .shareUpdateExclusive {
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
