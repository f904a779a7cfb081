import LibPQ
import Logging
import MoveQueue

/// One worker on a connection of its own, which it opens anew whenever it is lost.
struct WorkerLoop: Sendable {
    let configuration: DaemonConfiguration
    let doorbell: Doorbell
    let isStopping: StopFlag
    let statistics: DaemonStatistics
    let logger: Logger

    func run() async {
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(5))
        while mustGoOn {
            do {
                let connection = try await Connection.connect(configuration.connection, logger: logger)
                try await work(on: connection, &backoff)
                await connection.close()
                return
            } catch {
                guard mustGoOn else { return }
                logger.warning("lost the connection; trying again", metadata: ["error": "\(error)"])
                try? await Task.sleep(for: backoff.pause())
            }
        }
    }

    private var mustGoOn: Bool { !isStopping.isSet && !Task.isCancelled }

    /// Works until it is told to stop, or drained.
    ///
    /// - Throws: the error that cost the connection.
    private func work(on connection: Connection, _ backoff: inout Backoff) async throws {
        // What a worker remembers lasts no longer than its connection: after a COMMIT without an answer, all is unknown.
        var worker = QueueWorker(configuration.queue)
        try await worker.wander(on: connection)
        var contention = Backoff(first: .milliseconds(2), longest: .milliseconds(200))
        while mustGoOn {
            do {
                switch try await worker.runBatch(on: connection) {
                case .decided(let report):
                    note(report)
                    doorbell.ring()
                    contention.reset()
                    backoff.reset()
                case .contended:
                    try await Task.sleep(for: contention.pause())
                    try await worker.wander(on: connection)
                case .idle where configuration.drains:
                    return
                case .idle:
                    await doorbell.wait()
                    contention.reset()
                }
            } catch let error as QueueError {
                guard await !connection.isLost, error.databaseError?.sqlState != .readOnlyTransaction else {
                    throw error
                }
                logger.error("nothing was decided; trying again", metadata: ["error": "\(error)"])
                try await Task.sleep(for: backoff.pause())
                try await worker.wander(on: connection)
            }
        }
    }

    private func note(_ report: BatchReport) {
        statistics.count(report)
        logger.debug(
            "decided", metadata: ["applied": "\(report.applied)", "rejected": "\(report.rejected)"])
        for rebalance in report.rebalances {
            logger.info(
                "rebalanced",
                metadata: [
                    "list": "\(rebalance.list)", "rows": "\(rebalance.rows)", "cause": "request \(rebalance.request)",
                ])
        }
    }
}
