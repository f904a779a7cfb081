import LibPQ

extension PostgresError {
    /// Whether another session changed or locked the same rows at the same time, so that the same transaction may succeed later. In a
    /// partitioned table that happens whenever a session moves a row to another partition.
    var isConflict: Bool { sqlState == .serializationFailure || sqlState == .deadlockDetected }
}

/// How often a transaction is tried in succession if it fails because of other sessions.
let mostAttempts = 100

/// The pauses differ, so that two sessions don't hinder each other again and again.
private let millisecondsBetweenAttempts = 5...50

/// Runs a transaction again after a short pause, as long as it fails because other sessions changed or locked the same rows. `orLocks`
/// says whether it also fails so if it can't get a lock in time. `body` gets the number of failures in succession.
func retryingConflicts<Value>(
    isolation: isolated (any Actor)? = #isolation, orLocks: Bool = false,
    attempts: Int = mostAttempts, _ body: (_ failures: Int) async throws -> Value
) async throws -> Value {
    var failures = 0
    while true {
        do {
            return try await body(failures)
        } catch let error as PostgresError where error.isConflict || orLocks && error.sqlState == .lockNotAvailable {
            failures += 1
            guard failures < attempts else { throw error }
        }
        try await Task.sleep(for: .milliseconds(Int.random(in: millisecondsBetweenAttempts)))
    }
}
