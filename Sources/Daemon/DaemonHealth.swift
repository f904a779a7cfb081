import Synchronization

/// Whether a daemon's loops make progress, and whether they reach the database. The loops write it, and probes read it.
package final class DaemonHealth: Sendable {
    /// One of the daemon's loops.
    struct Loop: Sendable {
        fileprivate let index: Int
        fileprivate let health: DaemonHealth

        /// Records that the loop makes progress: it goes on to its next step, or a wait is over.
        func noteProgress() { health.change(index) { $0.activity = .working(since: .now) } }

        /// Records that the loop waits: for an event, which may take any time, or for a connection, which has a time limit of its own.
        func noteWait() { health.change(index) { $0.activity = .waiting } }

        /// Records that the loop has a connection. `reasonNotReady` is the reason why the database can't be worked on; nil if it can.
        func noteConnection(reasonNotReady: String? = nil) {
            health.change(index) { loop in
                loop.activity = .working(since: .now)
                loop.reasonNotReady = reasonNotReady
            }
        }

        /// Records why the database can't be worked on; nil if it can.
        func note(reasonNotReady: String?) { health.change(index) { $0.reasonNotReady = reasonNotReady } }

        /// Returns whether a probe has asked for the readiness since the last call.
        func wasAskedSinceLastCall() -> Bool { health.isAsked.exchange(false, ordering: .relaxed) }

        /// Records that the loop has lost its connection, for this reason. It pauses before it connects again.
        func noteLostConnection(_ reason: String) {
            health.change(index) { loop in
                loop.activity = .waiting
                loop.reasonNotReady = reason
            }
        }

        /// Records that the loop waits, for this reason, until a COMMIT need not wait for a synchronous standby any more. The COMMITs of the
        /// other loops would wait too, so the daemon is not ready.
        func noteWaitForStandby(_ reason: String) {
            health.change(index) { loop in
                loop.activity = .waiting
                loop.reasonNotReady = reason
                loop.concernsAll = true
            }
        }

        /// Records that the loop has ended, because its work is done or the daemon stops.
        func noteEnd() {
            health.change(index) { loop in
                loop.activity = .waiting
                loop.reasonNotReady = "stopped"
            }
        }
    }

    enum Kind: Sendable {
        case listener, worker
    }

    private struct State {
        enum Activity {
            case waiting
            case working(since: ContinuousClock.Instant)
        }

        let name: String
        let kind: Kind
        var activity: Activity
        /// Why the loop can't work; nil if it can.
        var reasonNotReady: String? {
            didSet { concernsAll = false }
        }
        /// Whether no other loop can work either, for this reason.
        var concernsAll = false
    }

    private let loops = Mutex<[State]>([])
    private let isAsked = Atomic(false)
    /// What the daemon waits for before its loops begin; nil if it is not known.
    private let reasonNotStarted = Mutex<String?>(nil)

    package init() {}

    /// Records what the daemon waits for before its loops begin.
    package func note(reasonNotStarted: String) { self.reasonNotStarted.withLock { $0 = reasonNotStarted } }

    func loop(_ name: String, _ kind: Kind) -> Loop {
        loops.withLock { loops in
            loops.append(
                State(name: name, kind: kind, activity: .working(since: .now), reasonNotReady: "not connected yet"))
            return Loop(index: loops.count - 1, health: self)
        }
    }

    private func change(_ index: Int, _ change: (inout State) -> Void) {
        loops.withLock { change(&$0[index]) }
    }

    /// A message for each loop that has made no progress for longer than `limit`. Empty before the daemon runs.
    package func stalled(longerThan limit: Duration, at now: ContinuousClock.Instant = .now) -> [String] {
        loops.withLock { loops in
            loops.compactMap { loop in
                guard case .working(let since) = loop.activity, now - since > limit else { return nil }
                return "\(loop.name) has made no progress for \((now - since).components.seconds) s"
            }
        }
    }

    /// Returns ``reasonNotReady``, and makes the listener check the database again.
    package func askForReasonNotReady() -> String? {
        isAsked.store(true, ordering: .relaxed)
        return reasonNotReady
    }

    /// Why requests can't be applied now; nil if they can. They can if the listener and at least one worker are connected to a
    /// database that can be worked on, and no worker waits for a synchronous standby.
    package var reasonNotReady: String? {
        loops.withLock { loops in
            guard !loops.isEmpty else {
                return "not started yet\(reasonNotStarted.withLock { $0 }.map { ": \($0)" } ?? "")"
            }
            var decisive = loops.first { $0.concernsAll }
            for kind in [Kind.listener, .worker] where decisive == nil {
                let alike = loops.filter { $0.kind == kind }
                if alike.allSatisfy({ $0.reasonNotReady != nil }) { decisive = alike.first }
            }
            return decisive.flatMap { loop in loop.reasonNotReady.map { "\(loop.name): \($0)" } }
        }
    }
}
