import LibPQ
import Logging
import MoveQueue
import Ordering

extension BatchFailure {
    /// What a person can do about a failure that does not pass by itself; nil if it may pass.
    var nextStep: String? {
        switch error {
        case .ordering(.missingColumn): "A table or column is missing. Run brocot doctor."
        case .ordering(.unsupportedKeyType), .ordering(.invalidStoredRank): "Run brocot doctor."
        default:
            switch error.databaseError?.sqlState {
            case SQLState.insufficientPrivilege?:
                "Run brocot doctor. If a right is missing, as the owner: brocot grant daemon ROLE"
            case SQLState.undefinedColumn?, SQLState.undefinedTable?: "A table or column is missing. Run brocot doctor."
            default: nil
            }
        }
    }
}

/// What a worker logs of its batches, and of lists that other sessions keep locked.
extension Worker {
    /// Logs lists that another session keeps locked.
    func reportLockHolders(
        of unavailable: [ListIdentifier], _ memory: inout Memory, on connection: Connection
    ) async throws {
        memory.unavailable.note(unavailable, at: .now)
        let lists = memory.unavailable.due(at: .now)
        guard !lists.isEmpty else { return }
        let holders = try await LockHolder.find(lists, on: connection)
        for overdue in memory.unavailable.note(holders: holders, at: .now) {
            // Other workers and daemons have the same name. One of them that has stopped keeps its transaction open.
            let isAlike = overdue.holder.application == (await connection.parameterStatus("application_name"))
            report(overdue, isAlike: isAlike)
        }
    }

    private func report(_ overdue: UnavailableLists.Overdue, isAlike: Bool) {
        var metadata: Logger.Metadata = [
            "list": "\(overdue.list)", "seconds": .stringConvertible(overdue.duration.components.seconds),
        ]
        let message: Logger.Message
        switch overdue.holder.owner {
        case .session(let process):
            metadata["pid"] = .stringConvertible(process)
            metadata["application"] = "\(overdue.holder.application)"
            message =
                isAlike
                ? """
                one transaction of a Brocot session keeps a list locked; its requests wait. Does a daemon stand still? \
                The server ends the transaction after --idle-timeout
                """
                : "one transaction keeps a list locked; its requests wait. See pg_stat_activity for the pid"
        case .prepared(let name):
            metadata["prepared_transaction"] = name.map { "\($0)" }
            message = "a prepared transaction keeps a list locked; its requests wait. See pg_prepared_xacts, and end it"
        }
        logger.warning(message, metadata: metadata)
    }

    func note(_ report: BatchReport) {
        statistics.count(report)
        logger.debug(
            "decided",
            metadata: [
                "applied": .stringConvertible(report.applied), "rejected": .stringConvertible(report.rejected),
            ])
        for rejected in report.rejections {
            logger.log(
                level: configuration.rejectionLevel, "rejected a request",
                metadata: [
                    "request": .stringConvertible(rejected.request), "list": "\(rejected.list)",
                    "code": "\(rejected.rejection.code.rawValue)", "error": "\(rejected.rejection.message)",
                ])
        }
        for rebalance in report.rebalances {
            logger.info(
                "rebalanced",
                metadata: [
                    "list": "\(rebalance.list)", "rows": .stringConvertible(rebalance.rows),
                    "window": "\(rebalance.window)",
                    "cause": "request \(rebalance.request)",
                ])
        }
        for held in report.newlyHeld {
            logger.error(
                "the database refuses a request; its list waits. Remove the cause, then: brocot release LIST --table TABLE",
                metadata: [
                    "list": "\(held.list)", "request": .stringConvertible(held.request), "error": "\(held.error)",
                ])
        }
    }
}
