import LibPQ
import Ordering

/// Why requests could not be decided.
package enum QueueError: Error, Sendable {
    case database(PostgresError)
    case ordering(OrderingError)
    /// The numbers of requests that were decided, deleted from the queue and written to the log differ.
    case countsDiffer(decided: Int, deleted: Int, logged: Int)
    /// A request contains values that the queue's own constraints should have refused.
    case unreadableRequest(id: Int64)
    /// A trigger has changed the role or the client's encoding, or made the transaction read-only.
    case settingsChanged
    /// A trigger, or another session, has deleted or changed requests of the batch.
    case requestsChanged

    /// The error of the database, if the database caused it.
    package var databaseError: PostgresError? {
        switch self {
        case .database(let error), .ordering(.database(let error)), .ordering(.unreadableTable(let error)): error
        case .ordering, .countsDiffer, .unreadableRequest, .settingsChanged, .requestsChanged: nil
        }
    }

    /// Whether the server or the connection failed, or the task was cancelled. If the server lacks a resource, a smaller batch may need less
    /// of it.
    package var isCausedByServerOrConnection: Bool { isCausedByConnection || isCausedByServer }

    /// Whether the connection failed, or the task was cancelled. Then no list is the cause, except that a user's trigger may have ended the
    /// session.
    var isCausedByConnection: Bool {
        guard let databaseError, !databaseError.isRaisedOnPurpose else { return false }
        return databaseError.code != .server || databaseError.isConnectionLost || databaseError.sqlState == nil
    }

    /// Whether the server lacks a resource, or could not read or write a file. Usually all lists suffer from it. But a trigger, or the
    /// tablespace of a single table, can cause the same error for some lists.
    package var isCausedByServer: Bool {
        guard let databaseError, !databaseError.isRaisedOnPurpose, !isCausedByConnection,
            let state = databaseError.sqlState
        else { return false }
        return state.isCausedByServer && state != .queryCanceled
    }

    /// Whether not as many requests were deleted and logged as were decided, for example because a trigger returned NULL.
    var isAboutCounts: Bool { if case .countsDiffer = self { true } else { false } }

    /// Whether all lists of the same table would fail in the same way.
    var concernsTable: Bool {
        switch self {
        case .ordering(let error): error.concernsTable
        case .database, .countsDiffer, .unreadableRequest, .settingsChanged, .requestsChanged: false
        }
    }

    package var isConnectionLost: Bool { databaseError?.isConnectionLost == true }

    /// Whether the lists that may be the cause are tried one by one: either because a failure costs more than a batch for each list, or
    /// because a list may need more time than several lists together get.
    var isCostly: Bool {
        if case .ordering(.tookTooLong) = self { return true }
        return isConnectionLost || databaseError?.sqlState == .queryCanceled
    }

    /// The error as it is written to the log of requests.
    var refusal: Refusal {
        switch self {
        case .database(let error), .ordering(.database(let error)), .ordering(.unreadableTable(let error)):
            Refusal(message: error.message, sqlState: error.sqlState?.rawValue)
        case .ordering, .countsDiffer, .unreadableRequest, .settingsChanged, .requestsChanged:
            Refusal(message: "\(self)", sqlState: SQLState.triggeredActionException.rawValue)
        }
    }

    /// Runs `body`, and wraps an error of the database.
    static func wrappingErrors<Value>(_ body: () throws(PostgresError) -> Value) throws(QueueError) -> Value {
        do throws(PostgresError) { return try body() } catch { throw .database(error) }
    }

    /// Whether the error decides no request: see ``FailureClass/environment``. Otherwise a request that fails alone each time is the cause.
    var isCausedByEnvironment: Bool {
        switch self {
        case .database(let error): FailureClass(.database(error)) == .environment
        case .ordering(let error): FailureClass(error) == .environment
        case .unreadableRequest: true
        case .countsDiffer, .settingsChanged, .requestsChanged: false
        }
    }
}

extension QueueError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .database(let error): "\(error)"
        case .ordering(let error): "\(error)"
        case .countsDiffer(let decided, let deleted, let logged):
            "\(decided) requests were decided, but \(deleted) were deleted from the queue and \(logged) written to the log; "
                + "the batch was rolled back, and is tried again. Another session may have deleted requests, such as `brocot detach`"
        case .unreadableRequest(let id):
            "request \(id) can't be read: the constraints of brocot.move_requests were changed; restore them"
        case .settingsChanged:
            """
            a trigger changes the role or client_encoding, or makes the transaction read-only. Change the trigger so that it sets them back
            """
        case .requestsChanged:
            """
            a trigger, or another session, has deleted or changed requests of the batch. A trigger must not change or delete rows of brocot.move_requests
            """
        }
    }
}
