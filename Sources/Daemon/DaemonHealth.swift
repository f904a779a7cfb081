import Synchronization

/// Whether a daemon's loops turn, and whether they reach the database. Kept by the loops, read by probes.
package final class DaemonHealth: Sendable {
    /// One of the daemon's loops.
    struct Loop: Sendable {
        fileprivate let index: Int
        fileprivate let health: DaemonHealth

        /// A turn begins, or a wait is over.
        func turn() { health.change(index) { $0.activity = .turning(since: .now) } }

        /// It waits for somebody else's sign, for as long as it takes.
        func waits() { health.change(index) { $0.activity = .waiting } }

        /// It has a connection. `unfitness` says why the database behind it is not to be worked on.
        func isConnected(unfitness: String? = nil) {
            health.change(index) { loop in
                loop.activity = .turning(since: .now)
                loop.unreadiness = unfitness
            }
        }

        /// What is behind its connection was looked at again.
        func isFit(_ unfitness: String?) { health.change(index) { $0.unreadiness = unfitness } }

        /// Whether somebody has asked for the readiness since this was called last.
        func wasAskedFor() -> Bool { health.isAsked.exchange(false, ordering: .relaxed) }

        /// It has none, for this reason.
        func lostConnection(_ reason: String) {
            health.change(index) { loop in
                loop.activity = .turning(since: .now)
                loop.unreadiness = reason
            }
        }

        /// It has done its work, or was told to stop.
        func ends() {
            health.change(index) { loop in
                loop.activity = .waiting
                loop.unreadiness = "stopped"
            }
        }
    }

    enum Kind: Sendable {
        case listener, worker
    }

    private struct State {
        enum Activity {
            case waiting
            case turning(since: ContinuousClock.Instant)
        }

        let name: String
        let kind: Kind
        var activity: Activity
        /// Why it can't work; nil where it can.
        var unreadiness: String?
    }

    private let loops = Mutex<[State]>([])
    private let isAsked = Atomic(false)

    package init() {}

    func loop(_ name: String, _ kind: Kind) -> Loop {
        loops.withLock { loops in
            loops.append(
                State(name: name, kind: kind, activity: .turning(since: .now), unreadiness: "not connected yet"))
            return Loop(index: loops.count - 1, health: self)
        }
    }

    private func change(_ index: Int, _ change: (inout State) -> Void) {
        loops.withLock { change(&$0[index]) }
    }

    /// The loops that have not turned for longer than this, for people. None before the daemon runs.
    package func stalled(longerThan limit: Duration, at now: ContinuousClock.Instant = .now) -> [String] {
        loops.withLock { loops in
            loops.compactMap { loop in
                guard case .turning(let since) = loop.activity, now - since > limit else { return nil }
                return "\(loop.name) has not turned for \((now - since).components.seconds) s"
            }
        }
    }

    /// The same as ``unreadiness``, and has the database looked at again, since somebody wants to know.
    package func askForUnreadiness() -> String? {
        isAsked.store(true, ordering: .relaxed)
        return unreadiness
    }

    /// Why requests can't be applied now; nil where they can: the listener and at least one worker have a connection to a
    /// database that is fit.
    package var unreadiness: String? {
        loops.withLock { loops in
            guard !loops.isEmpty else { return "not started yet" }
            for kind in [Kind.listener, .worker] {
                let alike = loops.filter { $0.kind == kind }
                guard !alike.isEmpty, alike.allSatisfy({ $0.unreadiness != nil }) else { continue }
                return alike[0].unreadiness.map { "\(alike[0].name): \($0)" }
            }
            return nil
        }
    }
}
