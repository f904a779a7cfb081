import LibPQ
import Ordering

/// Why a batch was rolled back: nothing was decided.
package enum QueueError: Error, Sendable {
    case database(PostgresError)
    case ordering(OrderingError)
    /// Other than the decided requests would have left the queue, or entered the log.
    case countsDiffer(decided: Int, deleted: Int, logged: Int)
    /// A request has what the queue's own constraints refuse.
    case unreadableRequest(id: Int64)
    /// A trigger has changed the role, or made the transaction one that only reads.
    case settingsChanged

    /// What the database said, if it was the database.
    package var databaseError: PostgresError? {
        switch self {
        case .database(let error), .ordering(.database(let error)): error
        case .ordering, .countsDiffer, .unreadableRequest, .settingsChanged: nil
        }
    }

    /// Whether the server is, or has become, one that only reads. The transaction's BEGIN says it in words of its own.
    package var saysStandby: Bool {
        guard let databaseError, !databaseError.isFromFunction else { return false }
        return databaseError.sqlState == .readOnlyTransaction || databaseError.sqlState == .featureNotSupported
    }

    /// Whether the server, or the way to it, lacks something that every list needs. A smaller batch may do with less.
    package var mayPassWithSmallerBatch: Bool {
        guard let databaseError, !databaseError.isRaisedOnPurpose else { return false }
        guard databaseError.code == .server, !databaseError.isConnectionLost, let state = databaseError.sqlState
        else { return true }
        return ["53", "57", "58"].contains(state.classCode) && state != .queryCanceled
    }

    /// The same in words for the log of requests.
    var refusal: Refusal {
        switch self {
        case .database(let error), .ordering(.database(let error)):
            Refusal(message: error.message, sqlState: error.sqlState?.rawValue)
        case .ordering, .countsDiffer, .unreadableRequest, .settingsChanged:
            Refusal(message: "\(self)", sqlState: Self.triggeredActionException)
        }
    }

    /// The SQL standard's state for a trigger that does what it must not. PostgreSQL has no message for that.
    private static let triggeredActionException = "09000"

    /// Takes in what a transaction threw.
    init(_ error: any Error) {
        switch error {
        case let error as QueueError: self = error
        case let error as OrderingError: self = .ordering(error)
        case let error as PostgresError: self = .database(error)
        default: preconditionFailure("a transaction of the queue throws no \(type(of: error))")
        }
    }

    var failureClass: FailureClass {
        switch self {
        case .database(let error): FailureClass(.database(error))
        case .ordering(let error): FailureClass(error)
        case .countsDiffer, .settingsChanged: .staleRows
        case .unreadableRequest: .environment
        }
    }
}

/// A batch that failed: nothing was decided.
package struct BatchFailure: Error {
    package let error: QueueError
    /// Among these lists is the one that is to blame; empty: it is none.
    package let lists: [ListIdentifier]

    init(_ error: QueueError, lists: [ListIdentifier] = []) {
        self.error = error
        self.lists = lists
    }
}

extension BatchFailure: CustomStringConvertible {
    package var description: String { "\(error)" }
}

extension QueueError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .database(let error): "\(error)"
        case .ordering(let error): "\(error)"
        case .countsDiffer(let decided, let deleted, let logged):
            "\(decided) requests were decided, but \(deleted) would have left the queue and \(logged) entered the log; "
                + "something else deletes from brocot.move_requests"
        case .unreadableRequest(let id):
            "request \(id) can't be read: the constraints of brocot.move_requests were changed; restore them"
        case .settingsChanged:
            "a trigger changes the role, or makes the transaction read-only"
        }
    }
}
