import LibPQ
import Logging

/// The lock of the commands that attach, detach or repair a table: one command at a time has it.
struct CommandLock: Sendable {
    /// The key is the first eight bytes of SHA-256 of `brocot.attach`.
    static let advisoryLock = AdvisoryLock(key: 9_047_377_531_611_987_727)

    private static let tryLock = advisoryLock.tryLockForSession
    private static let unlock = advisoryLock.unlockOfSession
    private static let holders = LockHolderStatements.holders(where: advisoryLock.matches("holder"))

    private static let timeouts = ["statement_timeout", "transaction_timeout", "lock_timeout"]

    /// The time between two attempts to get the lock.
    private static let pause = Duration.milliseconds(500)

    let connection: Connection
    let logger: Logger
    /// How long other commands are waited for.
    let patience: Duration

    private var timeouts: [String] { Self.timeouts.filter(connection.knows(setting:)) }

    /// The settings of statements that run outside of transactions. Transactions have settings of their own.
    private var settings: String {
        (timeouts.map { "SET \($0) = 0" } + ["SET default_transaction_read_only = off"]).joined(separator: "; ")
    }

    /// Resets these settings, because a pooler may give the session to an application later.
    private var resetSettings: String {
        (timeouts + ["default_transaction_read_only"]).map { "RESET \($0)" }.joined(separator: "; ")
    }

    /// Runs `body` while no other command has the lock. The lock is tried in a loop: a session that waited for the lock in the
    /// server would block CREATE INDEX CONCURRENTLY of the command that has the lock.
    func exclusively<Value>(_ body: () async throws(AttachError) -> Value) async throws(AttachError) -> Value {
        try await lock()
        let value: Value
        do throws(AttachError) {
            value = try await body()
        } catch {
            try? await unlock()
            // An error of `body` does not say which steps are finished.
            guard case .database(let serverError) = error, serverError.isConnectionLost else { throw error }
            throw .stepFailed(step: "continue", serverError)
        }
        try await unlock()
        return value
    }

    private func lock() async throws(AttachError) {
        do throws(AttachError) {
            try await waitForLock()
        } catch {
            try? await connection.execute(script: resetSettings)
            throw error
        }
    }

    private func waitForLock() async throws(AttachError) {
        try await wrappingErrors {
            try await connection.execute(script: settings)
            let start = ContinuousClock.now
            var isWaiting = false
            while try await !connection.query(Self.tryLock).single().decode(0, as: Bool.self) {
                let isTooLate = ContinuousClock.now - start >= patience
                if !isWaiting || isTooLate {
                    let holders = try await DescribedLockHolder.all(Self.holders, on: connection)
                    guard !isTooLate else { throw AttachError.busy(holders: holders, waited: patience) }
                    logger.notice(
                        "waiting for another brocot attach, detach or check --repair to end",
                        metadata: ["holder": "\(holders.text)"])
                }
                isWaiting = true
                try await Task.sleep(for: min(Self.pause, patience))
            }
        }
    }

    /// If the connection is lost, the lock ends with the session.
    private func unlock() async throws(AttachError) {
        let wasLocked: Bool
        do throws(AttachError) {
            wasLocked = try await wrappingErrors {
                try await connection.execute(script: resetSettings)
                return try await connection.query(Self.unlock).single().decode(0)
            }
        } catch {
            guard error.serverError?.isConnectionLost == true else { throw error }
            return
        }
        guard wasLocked else { throw .lockInOtherSession }
    }
}
