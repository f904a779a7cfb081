import LibPQ
import Logging
import MoveQueue
import ServiceLifecycle

/// Applies move requests until it is told to stop, whatever happens to the server meanwhile.
package struct Daemon: Service {
    private let configuration: DaemonConfiguration
    private let logger: Logger
    private let statistics = DaemonStatistics()

    package init(_ configuration: DaemonConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Ends on graceful shutdown, after the running transactions; on cancellation, which rolls them back; and with
    /// `drains`, when nothing is pending.
    package func run() async throws {
        let lookout = Lookout(configuration.connection, workers: configuration.workers, logger: logger)
        let isStopping = StopFlag()
        await withTaskCancellationOrGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                if !configuration.drains {
                    group.addTask { await lookout.run(until: isStopping) }
                }
                for number in 1...max(1, configuration.workers) {
                    let worker = WorkerLoop(
                        configuration: configuration, doorbell: lookout.doorbell, isStopping: isStopping,
                        statistics: statistics, logger: worker(number))
                    group.addTask { await worker.run() }
                }
            }
        } onCancelOrGracefulShutdown: {
            isStopping.set()
            lookout.stop()
        }
        let totals = statistics.totals
        logger.info(
            "stopped",
            metadata: [
                "applied": "\(totals.applied)", "rejected": "\(totals.rejected)", "batches": "\(totals.batches)",
                "rebalances": "\(totals.rebalances)", "rebalanced_rows": "\(totals.rebalancedRows)",
                "largest_rebalance": "\(totals.largestRebalance)",
            ])
    }

    private func worker(_ number: Int) -> Logger {
        var logger = logger
        logger[metadataKey: "worker"] = "\(number)"
        return logger
    }
}
