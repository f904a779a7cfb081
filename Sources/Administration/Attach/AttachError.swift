import LibPQ
import Ordering

/// Why a table was not attached, detached or repaired.
package enum AttachError: Error, Sendable {
    /// The table or the arguments don't allow it. Nothing was changed.
    case refused(String)
    /// Other sessions held a lock for too long. There is no holder if the lock was just released, or is not of the table. The finished steps
    /// stay, and the same command continues after them.
    case lockTimeout(step: String, holders: [DescribedLockHolder] = [])
    /// Other sessions kept the lock of a list whose ranks are damaged, or locked its rows; nil means rows in no list. Lists that are repaired
    /// stay so.
    case listLocked(String?, holders: [DescribedLockHolder])
    /// Other sessions kept the lock under which one command at a time attaches or detaches a table. Nothing was changed.
    case busy(holders: [DescribedLockHolder], waited: Duration)
    /// A pooler has changed the server's session, so the lock stayed in another one. The steps are done.
    case lockInOtherSession
    /// Rows have the rank of another row of their list, so the unique index was not built. `isBeingFilled` says whether attach itself
    /// removes such ranks.
    case equalRanks(OrderNames, isBeingFilled: Bool, PostgresError)
    /// The database failed while rows were placed. The finished steps stay, and requests wait. `isOrderStored` says whether the order of the
    /// rows was stored before, so that the next call continues with it.
    case unfinished(orderedTable: String, isOrderStored: Bool, PostgresError)
    /// A trigger or policy kept a row from getting its rank. The finished steps stay, and requests wait.
    case rowNotWritten(orderedTable: String, item: String)
    /// A trigger or constraint refused to let a row get its rank. The finished steps stay, and requests wait.
    case rowRefused(orderedTable: String, item: String, PostgresError)
    /// The database failed during a step. The finished steps stay, and the same command continues after them.
    case stepFailed(step: String, PostgresError)
    /// After several attempts, these steps are still needed. Probably other sessions change the table. The finished steps stay.
    case stepsLeft([String])
    /// The repair of a missing rank column ended early. Moves of the table wait.
    indirect case unfinishedRepair(OrderNames, AttachError)
    /// The database failed, or refused a statement.
    case database(PostgresError)
    case cancelled
}

extension AttachError {
    /// The error of the database in a step or outside of one; nil for other errors.
    package var serverError: PostgresError? {
        switch self {
        case .database(let error), .stepFailed(_, let error), .unfinished(_, _, let error),
            .equalRanks(_, _, let error), .rowRefused(_, _, let error):
            error
        case .unfinishedRepair(_, let error): error.serverError
        case .refused, .lockTimeout, .listLocked, .busy, .lockInOtherSession, .rowNotWritten, .stepsLeft, .cancelled:
            nil
        }
    }

    package static func adviceAfterUnfinishedRepair(of orderedTable: String) -> String {
        """
        Moves of \(orderedTable) wait, because the repair has not ended. Run brocot check --repair again, and then brocot attach with the \
        same options as before.
        """
    }

    /// Whether another session's lock is the reason.
    var isForLock: Bool {
        switch self {
        case .lockTimeout, .listLocked: true
        case .database(let error), .stepFailed(_, let error): error.sqlState == .lockNotAvailable
        case .unfinishedRepair(_, let error): error.isForLock
        case .refused, .busy, .lockInOtherSession, .equalRanks, .unfinished, .rowNotWritten, .rowRefused, .stepsLeft,
            .cancelled:
            false
        }
    }

    /// Whether the reason keeps the command from working on other tables too.
    var concernsAllTables: Bool {
        switch self {
        case .busy, .lockInOtherSession, .cancelled: true
        case .unfinishedRepair(_, let error): error.concernsAllTables
        case .refused, .lockTimeout, .listLocked, .equalRanks, .unfinished, .rowNotWritten, .rowRefused, .stepFailed,
            .stepsLeft, .database:
            serverError?.isConnectionLost == true
        }
    }
}

extension AttachError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refused(let reason): reason
        case .lockTimeout(let step, let holders):
            """
            Could not \(step): a table that this step needs is locked by \(holders.text). The finished steps stay. Run the same command again when that \
            transaction has ended, and it continues. \(holders.advice
                ?? "See pg_stat_activity for long transactions, and pg_prepared_xacts for prepared ones.")
            """
        case .listLocked(let list, let holders):
            """
            Could not repair the ranks of \(list.map { "list \"\($0)\", because the list or one of its rows" } ?? "rows in no list, because a row") \
            is locked by \(holders.text). Run the same command again when that transaction has ended. \(holders.advice ?? "")
            """
        case .busy(let holders, let waited):
            """
            The lock of brocot attach, detach and check --repair was held by \(holders.text), and was not released within \
            \(waited.components.seconds) s. Nothing was changed. If that session runs one of these commands, run this command again when it has ended. \
            Otherwise end the session. \(holders.advice ?? "See pg_locks, locktype advisory.")
            """
        case .lockInOtherSession:
            """
            All steps are done, but another session of the server still has the lock of brocot attach, detach and check --repair. So these \
            commands wait. A pooler in transaction mode may be the cause. End that session: see pg_locks, locktype advisory. Connect \
            these commands directly, or in session mode.
            """
        case .equalRanks(let names, let isBeingFilled, let error):
            """
            \(error)
            Rows of \(names.title) have the rank of another row of their list, so the index can't be built. The finished \
            steps stay. \(isBeingFilled
                ? "Other sessions keep inserting such ranks. Leave the rank columns out of their INSERTs, and run the same command again."
                : "Run brocot check --repair as the table's owner: it corrects the ranks and builds the index.")
            """
        case .unfinished(let orderedTable, let isOrderStored, let error):
            """
            \(error)
            The steps above stay, and requests for \(orderedTable) wait until you run the same brocot attach again. \(isOrderStored
                ? "If the rows cause the error, change them first."
                : "If the rows or --order-by cause the error, change the rows first, or give another --order-by.")
            """
        case .rowNotWritten(let orderedTable, let item):
            """
            The row of item '\(item)' was not written as asked: a trigger or policy of the table changes or prevents the change of its rank. The \
            steps above stay, and requests for \(orderedTable) wait. Change the trigger or policy, and run the same brocot attach again.
            """
        case .rowRefused(let orderedTable, let item, let error):
            """
            \(error)
            The row of item '\(item)' can't get its rank, because a trigger or constraint of the table raises this error. The steps above \
            stay, and requests for \(orderedTable) wait. Change the row, the trigger or the constraint, and run the same brocot attach again.
            """
        case .stepFailed(let step, let error):
            """
            \(error)
            Could not \(step). The finished steps stay. Remove the cause, and run the same command again: it continues after them.
            """
        case .stepsLeft(let purposes):
            """
            After several attempts, these steps are still needed: \(purposes.joined(separator: "; ")). Probably other sessions change the \
            table. The finished steps stay. Run the same command again when no other session changes the table.
            """
        case .unfinishedRepair(let names, let error):
            "\(error)\n\(Self.adviceAfterUnfinishedRepair(of: names.orderedTable))"
        case .database(let error): "\(error)"
        case .cancelled: "Interrupted. The finished steps stay. Run the same command again to continue."
        }
    }
}

/// Turns errors of the database into ``AttachError``.
func wrappingErrors<Value>(_ body: () async throws -> Value) async throws(AttachError) -> Value {
    do {
        return try await body()
    } catch let error as AttachError {
        throw error
    } catch PostgresError.Code.cancelled {
        throw .cancelled
    } catch let error as PostgresError {
        throw .database(error)
    } catch OrderingError.database(let error) {
        throw .database(error)
    } catch is CancellationError {
        throw .cancelled
    } catch {
        throw .refused("\(error)")
    }
}
