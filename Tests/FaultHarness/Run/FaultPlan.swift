import OrderingModel

/// Which faults happen in which order, and at which moments. Pure: the seed says it all, but for the time that it takes.
package struct FaultPlan: Sendable {
    /// When a fault happens.
    package enum Moment: Hashable, Sendable {
        /// At once, whatever is going on.
        case anytime
        /// At the n-th statement of a daemon's transaction.
        case statement(Int, FaultProxy.Phase)
        /// At the end of one.
        case commit(FaultProxy.Phase)
    }

    package struct Fault: Sendable {
        package let kind: FaultKind
        package let moment: Moment
        /// Which daemon is hit, or whose transaction is waited for.
        package let daemon: Int
        /// Repeats what else is left to chance.
        package let seed: UInt64
    }

    package private(set) var faults: [Fault] = []

    /// Every kind once where there are enough faults, and else as its weight says.
    package init(seed: UInt64, faults count: Int, daemons: Int, kinds: [FaultKind] = FaultKind.allCases) {
        var generator = SeededGenerator(seed: seed)
        let weighted = kinds.flatMap { Array(repeating: $0, count: $0.weight) }
        var chosen = Array(kinds.shuffled(using: &generator).prefix(count))
        while chosen.count < count, let kind = weighted.randomElement(using: &generator) { chosen.append(kind) }
        chosen.shuffle(using: &generator)
        faults = chosen.enumerated().map { number, kind in
            Fault(
                kind: kind, moment: Self.moment(of: kind, &generator), daemon: number % daemons,
                seed: generator.next())
        }
    }

    private static func moment(of kind: FaultKind, _ generator: inout SeededGenerator) -> Moment {
        let phase = FaultProxy.Phase.allCases.randomElement(using: &generator) ?? .underWay
        switch kind {
        case .commitAnswerLost: return .commit(.beforeAnswer)
        case .listsLocked, .tableLocked, .poolerRestarted, .enqueuerCut: return .anytime
        default: break
        }
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<2: return .anytime
        case 2..<5: return .commit(phase)
        default: return .statement(Int.random(in: 1...8, using: &generator), phase)
        }
    }
}
