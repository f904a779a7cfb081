import OrderingModel
import SeededRandom

/// Which faults happen in which order, and at which moments. Pure: the same seed gives the same plan.
package struct FaultPlan: Sendable {
    /// When a fault happens.
    package enum Moment: Hashable, Sendable {
        /// Immediately, without waiting for anything.
        case anytime
        /// At a statement of a daemon's batch.
        case boundary(Boundary)
    }

    package struct Fault: Sendable {
        package let kind: FaultKind
        package let moment: Moment
        /// The daemon that the fault concerns, or whose transaction is waited for.
        package let daemon: Int
        /// The seed for the random choices of this fault.
        package let seed: UInt64
    }

    package private(set) var faults: [Fault] = []

    /// Plans each kind once if there are enough faults. The other faults are chosen by the weights of the kinds.
    package init(seed: UInt64, faults count: Int, daemons: Int, kinds: [FaultKind] = FaultKind.allCases) {
        var generator = SeededGenerator(seed: seed)
        let weighted = kinds.flatMap { Array(repeating: $0, count: $0.weight) }
        var chosen = Array(kinds.shuffled(using: &generator).prefix(count))
        while chosen.count < count, let kind = weighted.randomElement(using: &generator) { chosen.append(kind) }
        chosen.shuffle(using: &generator)
        var deck: [Boundary] = []
        faults = chosen.enumerated().map { number, kind in
            Fault(
                kind: kind, moment: Self.moment(of: kind, &deck, &generator), daemon: number % daemons,
                seed: generator.next())
        }
    }

    /// Boundaries come from a shuffled deck, so that each is met as often as any other.
    private static func moment(
        of kind: FaultKind, _ deck: inout [Boundary], _ generator: inout SeededGenerator
    ) -> Moment {
        switch kind {
        case .commitAnswerLost: return .boundary(Boundary(step: .commit, phase: .beforeAnswer))
        case .listsLocked, .tableLocked, .poolerRestarted, .enqueuerCut: return .anytime
        default: break
        }
        if Int.random(in: 0..<5, using: &generator) == 0 { return .anytime }
        if deck.isEmpty { deck = Boundary.allCases.shuffled(using: &generator) }
        return .boundary(deck.removeLast())
    }
}
