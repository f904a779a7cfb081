import Logging
import MoveQueue
import Ordering

/// What a worker logs of its batches.
extension Worker {
    func note(_ decisions: DecisionSummary) {
        statistics.count(decisions)
        logger.debug(
            "decided",
            metadata: [
                "applied": .stringConvertible(decisions.applied), "rejected": .stringConvertible(decisions.rejected),
            ])
        for rejected in decisions.rejections {
            logger.log(
                level: configuration.rejectionLevel, "rejected a request",
                metadata: [
                    "request": .stringConvertible(rejected.request), "list": "\(rejected.list)",
                    "code": "\(rejected.rejection.code.rawValue)", "error": "\(rejected.rejection.message)",
                ])
        }
        for rebalance in decisions.rebalances {
            logger.info(
                "rebalanced",
                metadata: [
                    "list": "\(rebalance.list)", "rows": .stringConvertible(rebalance.rows),
                    "window": "\(rebalance.window)",
                    "cause": "request \(rebalance.request)",
                ])
        }
        for held in decisions.newlyHeld {
            logger.error(
                "the database refuses a request; its list waits. Remove the cause, then: brocot release LIST --table TABLE",
                metadata: [
                    "list": "\(held.list)", "request": .stringConvertible(held.request), "error": "\(held.error)",
                ])
        }
    }
}
