import LibPQ
import Logging
import MoveQueue
import Ordering

/// What a worker logs of lists that other sessions keep locked.
extension WorkerSession {
    /// Logs lists that another session keeps locked.
    ///
    /// - Throws: An error of the connection. An error of the server is only logged.
    mutating func reportLockHolders(of lists: [ListIdentifier]) async throws {
        lockWatch.note(lists, at: .now)
        let due = lockWatch.due(at: .now)
        guard !due.isEmpty else { return }
        let transactions: [ListIdentifier: LockHoldingTransaction]
        do throws(PostgresError) {
            transactions = try await LockHoldingTransaction.find(due, on: connection)
            memory.noteLockHolders()
        } catch {
            guard error.isRefusal else { throw error }
            return memory.noteUnknownLockHolders(error)
        }
        for overdue in lockWatch.note(transactions, at: .now) {
            // Other workers and daemons have the same name. One of them that has stopped keeps its transaction open.
            let isAlike = overdue.transaction.applicationName == (await connection.parameterStatus("application_name"))
            report(overdue, isAlike: isAlike)
        }
    }

    private func report(_ overdue: ListLockWatch.Overdue, isAlike: Bool) {
        var metadata: Logger.Metadata = [
            "list": "\(overdue.list)", "seconds": .stringConvertible(overdue.duration.components.seconds),
        ]
        if overdue.lists > 1 { metadata["lists"] = .stringConvertible(overdue.lists) }
        let message: Logger.Message
        switch overdue.transaction.holder {
        case .session(let process):
            metadata["pid"] = .stringConvertible(process)
            metadata["application"] = "\(overdue.transaction.applicationName)"
            message =
                isAlike
                ? """
                one transaction of a Brocot session keeps a list locked; the list's requests wait. A daemon may have stopped: see \
                pg_stat_activity for the pid. If the transaction is idle, the server ends it after --idle-timeout
                """
                : "one transaction keeps a list locked; the list's requests wait. See pg_stat_activity for the pid"
        case .prepared(let name):
            metadata["prepared_transaction"] = name.map { "\($0)" }
            message =
                "a prepared transaction keeps a list locked; the list's requests wait. See pg_prepared_xacts, and end it"
        }
        worker.logger.warning(message, metadata: metadata)
    }
}
