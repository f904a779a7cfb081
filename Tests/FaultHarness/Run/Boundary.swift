/// The purposes of the statements of a batch's transaction, in the order of the statements.
package enum BatchStep: String, Sendable, CaseIterable {
    case begin
    /// Claims lists by their locks.
    case lock
    /// Reads the requests of the locked lists.
    case readRequests
    case readTables
    /// Reads rows and their neighbours.
    case readItems
    case writeItems
    /// Prepares the planner for what follows.
    case set
    /// Moves requests to the log.
    case finish
    case commit

    /// Nil if the statement belongs to no batch.
    init?(_ statement: ObservedStatement) {
        let text = statement.text
        guard statement.isInTransaction else {
            // Only the transaction of a batch sets its time-out for idling.
            guard text.hasPrefix("BEGIN"), text.contains("idle_in_transaction_session_timeout") else { return nil }
            self = .begin
            return
        }
        if text == "COMMIT" {
            self = .commit
        } else if text.contains("pg_try_advisory_xact_lock") {
            self = .lock
        } else if text.contains("brocot.move_log") {
            self = .finish
        } else if text.hasPrefix("SET LOCAL") {
            self = .set
        } else if text.contains("brocot.ordered_tables") {
            self = .readTables
        } else if text.contains("brocot.move_requests") {
            self = .readRequests
        } else if text.contains("RETURNING") {
            // Every statement that writes rows returns what it wrote.
            self = .writeItems
        } else if text.hasPrefix("SELECT") || text.hasPrefix("WITH") {
            self = .readItems
        } else {
            return nil
        }
    }
}

/// A moment of a batch's transaction at which something can break.
package struct Boundary: Hashable, Sendable, CaseIterable, CustomStringConvertible {
    package let step: BatchStep
    package let phase: FaultProxy.Phase

    package static let allCases = BatchStep.allCases.flatMap { step in
        FaultProxy.Phase.allCases.map { Boundary(step: step, phase: $0) }
    }

    package var description: String { "\(step.rawValue), \(phase.rawValue)" }
}
