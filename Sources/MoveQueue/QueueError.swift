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

    /// What the database said, if it was the database.
    package var databaseError: PostgresError? {
        switch self {
        case .database(let error), .ordering(.database(let error)): error
        case .ordering, .countsDiffer, .unreadableRequest: nil
        }
    }

    /// Whether the server is, or has become, one that only reads. The transaction's BEGIN says it in words of its own.
    package var saysStandby: Bool {
        databaseError?.sqlState == .readOnlyTransaction || databaseError?.sqlState == .featureNotSupported
    }

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
        case .countsDiffer: .staleRows
        case .unreadableRequest: .environment
        }
    }
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
        }
    }
}
