import LibPQ

extension PostgresError {
    /// Whether another session changed or locked the same rows at the same time, so that the same transaction may succeed later. In a
    /// partitioned table that happens whenever a session moves a row to another partition.
    var isConflict: Bool {
        sqlState == .serializationFailure || sqlState == .deadlockDetected || isFromConcurrentChangeOfCatalog
    }

    /// Whether another session changed or dropped an object while the statement changed or described it. The server has no SQLSTATE of its own for
    /// that. It translates none of these messages.
    private var isFromConcurrentChangeOfCatalog: Bool {
        sqlState == .internalError
            && ["tuple concurrently ", "cache lookup failed for ", "could not open relation with OID "].contains {
                message.hasPrefix($0)
            }
    }
}

/// How often a transaction is tried in succession if it fails because of other sessions.
let mostAttemptsAtConflicts = 100

/// The pauses differ, so that two sessions don't hinder each other again and again.
private let millisecondsBetweenAttempts = 5...50

/// Runs a transaction again after a short pause, as long as it fails because other sessions changed or locked the same rows.
///
/// - Parameters:
///   - isolation: The caller's actor.
///   - otherStates: Further SQLSTATE values with which the transaction fails because of other sessions.
///   - attempts: How often it is tried.
///   - body: The transaction. It gets the number of failures in succession.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws, at last.
func retryingConflicts<Value>(
    isolation: isolated (any Actor)? = #isolation, or otherStates: [SQLState] = [],
    attempts: Int = mostAttemptsAtConflicts, _ body: (_ failures: Int) async throws -> Value
) async throws -> Value {
    var failures = 0
    while true {
        do {
            return try await body(failures)
        } catch let error as PostgresError
            where error.isConflict || otherStates.contains(where: { error.sqlState == $0 })
        {
            failures += 1
            guard failures < attempts else { throw error }
        }
        try await Task.sleep(for: .milliseconds(Int.random(in: millisecondsBetweenAttempts)))
    }
}
