import LibPQ
import Logging
import Metrics
import ServiceLifecycle

/// Applies move requests until it is stopped. Failures of the server don't end it.
package struct Daemon: Service {
    private let configuration: DaemonConfiguration
    private let logger: Logger
    private let health: DaemonHealth
    private let metrics: DaemonMetrics
    private let statistics = DaemonStatistics()

    /// The daemon updates `health`, and sends its metrics to `metrics`, by default the backend that the process has chosen
    /// (`MetricsSystem.bootstrap`).
    package init(
        _ configuration: DaemonConfiguration, health: DaemonHealth = DaemonHealth(),
        metrics: any MetricsFactory = MetricsSystem.factory, logger: Logger
    ) {
        self.configuration = configuration
        self.health = health
        self.metrics = DaemonMetrics(metrics)
        self.logger = logger
    }

    /// Runs until one of three events: a graceful shutdown, after which the running transactions are finished; a cancellation,
    /// which rolls them back; or, with `drains`, that nothing is pending, or only what ``OnlyWaitingWorkIsLeft`` names.
    ///
    /// - Throws: ``OnlyWaitingWorkIsLeft`` or ``QueueRefused``, both with `drains` only.
    package func run() async throws {
        let interruption = ListenerInterruption()
        // The end of a drain sets only `stopSignal`.
        let (shutdownSignal, stopSignal) = (StopSignal(), StopSignal())
        shutdownSignal.onSet { stopSignal.set() }
        stopSignal.onSet { interruption.wakeUp() }
        let idleWorkers = IdleWorkers(workers: configuration.workers, stopSignal: stopSignal) { interruption.wakeUp() }
        let ends = await withTaskCancellationOrGracefulShutdownHandler {
            let ends = await withTaskGroup(of: Worker.End?.self) { group in
                if !configuration.drains {
                    addListener(to: &group, idleWorkers, interruption, stopSignal)
                    addLogPruner(to: &group, stopSignal)
                }
                for number in 1...configuration.workers {
                    let worker = Worker(
                        number: number, configuration: configuration, idleWorkers: idleWorkers,
                        stopSignal: stopSignal,
                        statistics: statistics, health: health.loop("worker \(number)", .worker), metrics: metrics,
                        logger: logger(ofWorker: number))
                    group.addTask { await worker.run() }
                }
                return await group.reduce(into: []) { ends, end in ends.append(end) }
            }
            if configuration.drains, ends.allSatisfy({ if case .refused = $0 { false } else { true } }) {
                await pruneLogOnce(shutdownSignal)
            }
            return ends
        } onCancelOrGracefulShutdown: {
            shutdownSignal.set()
        }
        logTotals()
        for case .refused(let refusal) in ends { throw refusal }
        // If one worker found nothing pending, it has read the whole queue last. So its result counts.
        if ends.contains(.drained) { return }
        if ends.contains(.onlyWaitingWork) { throw OnlyWaitingWorkIsLeft() }
    }

    private func logTotals() {
        let totals = statistics.totals
        logger.info(
            "stopped",
            metadata: [
                "applied": .stringConvertible(totals.applied), "rejected": .stringConvertible(totals.rejected),
                "batches": .stringConvertible(totals.batches), "rebalances": .stringConvertible(totals.rebalances),
                "rebalanced_rows": .stringConvertible(totals.rebalancedRows),
                "largest_rebalance": .stringConvertible(totals.largestRebalance),
            ])
    }

    private func addListener(
        to group: inout TaskGroup<Worker.End?>, _ idleWorkers: IdleWorkers, _ interruption: ListenerInterruption,
        _ stopSignal: StopSignal
    ) {
        let listener = NotificationListener(
            configuration: configuration, idleWorkers: idleWorkers, interruption: interruption,
            health: health.loop("the listener", .listener), metrics: metrics, logger: logger)
        group.addTask {
            await listener.run(until: stopSignal)
            return nil
        }
    }

    private func addLogPruner(to group: inout TaskGroup<Worker.End?>, _ stopSignal: StopSignal) {
        guard let age = configuration.logRetention else { return }
        let pruner = logPruner(stopSignal)
        group.addTask {
            await pruner.run(keeping: age)
            return nil
        }
    }

    /// The longest time for which a daemon that drains the queue prunes the log, so that a scheduler can soon start the next one.
    private static let longestLastPruning = Duration.seconds(60)

    private func pruneLogOnce(_ stopSignal: StopSignal) async {
        guard let age = configuration.logRetention else { return }
        await logPruner(stopSignal, until: .now + Self.longestLastPruning).runOnce(keeping: age)
    }

    private func logPruner(_ stopSignal: StopSignal, until deadline: ContinuousClock.Instant? = nil) -> LogPruner {
        LogPruner(
            configuration: configuration, stopSignal: stopSignal, deadline: deadline, statistics: statistics,
            logger: logger
        )
    }

    private func logger(ofWorker number: Int) -> Logger {
        var logger = logger
        logger[metadataKey: "worker"] = .stringConvertible(number)
        return logger
    }
}

/// All pending requests belong to waiting lists (they are held or paused, `brocot attach` still fills their table, or their stored ranks are
/// damaged), or to tables that are missing or that the daemon can't use.
package struct OnlyWaitingWorkIsLeft: Error, CustomStringConvertible {
    package var description: String {
        """
        only requests that wait for a person are left: of held or paused lists, of tables that brocot attach is still \
        filling, of lists whose stored ranks are damaged, or of tables that the daemon can't use. brocot status shows these lists, \
        and brocot doctor shows why a table can't be used. For held lists, run brocot release. For paused lists and tables, run \
        brocot resume. For a table that brocot attach is still filling, run the same brocot attach again. For damaged ranks, run \
        brocot check --repair
        """
    }
}

/// The server refuses the statements that read or write the queue, for example because the role lacks a right.
package struct QueueRefused: Error, Equatable, CustomStringConvertible {
    /// The server's error.
    let reason: String

    package var description: String {
        """
        the server refuses the statements that read or write the queue: \(reason). Run brocot doctor as the same role. If a right is missing, run as \
        the owner of schema brocot: brocot grant daemon ROLE
        """
    }
}
