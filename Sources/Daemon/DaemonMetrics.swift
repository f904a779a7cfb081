import Metrics
import MoveQueue

/// The metrics of a daemon.
struct DaemonMetrics: Sendable {
    /// Whether somebody collects the metrics. Otherwise the queue need not be sampled for them.
    let areCollected: Bool
    private let applied: Counter
    private let rejected: Counter
    private let batches: Counter
    private let batchDuration: Timer
    private let rebalances: Counter
    private let rebalancedRows: Counter
    private let lockMisses: Counter
    private let failedBatches: Counter
    private let holds: Counter
    private let workerConnectionLosses: Counter
    private let listenerConnectionLosses: Counter
    private let asleep: Gauge
    private let pending: Gauge
    private let oldestAge: Gauge
    private let heldLists: Gauge

    init(_ factory: any MetricsFactory) {
        areCollected = !(factory is NOOPMetricsHandler)
        func counter(_ name: String, _ dimensions: [(String, String)] = []) -> Counter {
            let counter = Counter(label: "brocot_\(name)_total", dimensions: dimensions, factory: factory)
            counter.increment(by: 0)
            return counter
        }
        func gauge(_ name: String) -> Gauge { Gauge(label: "brocot_\(name)", factory: factory) }
        applied = counter("requests", [("outcome", "applied")])
        rejected = counter("requests", [("outcome", "rejected")])
        batches = counter("batches")
        batchDuration = Timer(label: "brocot_batch_duration_seconds", factory: factory)
        rebalances = counter("rebalances")
        rebalancedRows = counter("rebalanced_rows")
        lockMisses = counter("lock_misses")
        failedBatches = counter("failed_batches")
        holds = counter("holds")
        workerConnectionLosses = counter("connections_lost", [("by", "worker")])
        listenerConnectionLosses = counter("connections_lost", [("by", "listener")])
        asleep = gauge("asleep")
        pending = gauge("pending_requests")
        oldestAge = gauge("oldest_request_age_seconds")
        heldLists = gauge("held_lists")
        noteUnknownQueue()
    }

    func note(_ decisions: DecisionSummary, in duration: Duration) {
        applied.increment(by: decisions.applied)
        rejected.increment(by: decisions.rejected)
        batches.increment()
        batchDuration.recordNanoseconds(Int64(duration / .nanoseconds(1)))
        rebalances.increment(by: decisions.rebalances.count)
        rebalancedRows.increment(by: decisions.rebalances.reduce(0) { $0 + $1.rows })
        holds.increment(by: decisions.newlyHeld.count)
    }

    func noteMissedLocks() { lockMisses.increment() }
    func noteFailedBatch() { failedBatches.increment() }
    func noteLostConnectionOfWorker() { workerConnectionLosses.increment() }

    /// Without the listener's connection, no request is noticed and no sample taken.
    func noteLostConnectionOfListener() {
        listenerConnectionLosses.increment()
        note(isAsleep: false)
        noteUnknownQueue()
    }

    func note(isAsleep: Bool) { asleep.record(isAsleep ? 1 : 0) }

    func note(_ sample: QueueSample) {
        pending.record(sample.pending)
        oldestAge.record(sample.oldestAge / .seconds(1))
        heldLists.record(sample.heldLists)
    }

    /// Records that the state of the queue is not known: there is no sample yet, or the last one failed.
    func noteUnknownQueue() {
        for gauge in [pending, oldestAge, heldLists] { gauge.record(Double.nan) }
    }
}

extension Daemon {
    /// A sentence of help for each of the daemon's metrics, by name.
    package static let metricsHelp = [
        "brocot_requests_total": "Move requests decided by this process, by outcome.",
        "brocot_batches_total": "Transactions that decided requests.",
        "brocot_batch_duration_seconds":
            """
        Duration of the turns that decided requests. It contains their poll of the queue, the search for lists, and all their \
        transactions, up to the end of COMMIT.
        """,
        "brocot_rebalances_total": "Moves for which other items had to get new ranks to make room.",
        "brocot_rebalanced_rows_total": "Other items that got new ranks.",
        "brocot_lock_misses_total":
            """
        Batches that decided nothing, and in which a list was unavailable: another session had its lock or its rows, or a list that it \
        needs was locked or postponed.
        """,
        "brocot_failed_batches_total":
            """
        Transactions that could not decide requests, in time or because of an error. If the connection was lost, only \
        brocot_connections_lost_total counts it.
        """,
        "brocot_holds_total": "How often a list was held for a person, because the database refused a request.",
        "brocot_connections_lost_total":
            "Connections that broke or could not be opened, of workers and of the listener.",
        "brocot_asleep": "1 while the listener is connected and all workers wait for requests, else 0.",
        "brocot_pending_requests":
            "Pending requests in the database, an estimate beyond 10,000. Sampled every 15 to 60 s; NaN if unknown.",
        "brocot_oldest_request_age_seconds":
            "Age of the oldest pending request, 0 if there is none. Sampled every 15 to 60 s; NaN if unknown.",
        "brocot_held_lists":
            """
        Lists that wait for a person, because the database refused a request. Paused lists don't count. Sampled every 15 to 60 s; NaN if unknown.
        """,
    ]
}
