import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("Rounds that led to no decision", .usualTimeLimit) struct FruitlessRoundsTests {
    /// What the postponed lists of a worker are.
    enum Postponed {
        case none, brieflyUnavailable, longUnavailable, failing, tooManyFailing, tooManyAndOneUnavailable

        var lists: PostponedLists {
            let now = ContinuousClock.now
            var postponed = PostponedLists()
            switch self {
            case .none:
                break
            case .brieflyUnavailable:
                for _ in 1...3 { postponed.noteUnavailable([ListIdentifier("a")], at: now) }
            case .longUnavailable:
                for _ in 1...4 { postponed.noteUnavailable([ListIdentifier("a")], at: now) }
            case .failing:
                postponed.noteFailure(of: [ListIdentifier("a")], at: now)
            case .tooManyFailing:
                Self.fail(1...PostponedLists.capacity, &postponed)
            case .tooManyAndOneUnavailable:
                postponed.noteUnavailable([ListIdentifier("a")], at: now)
                Self.fail(1...PostponedLists.capacity - 1, &postponed)
            }
            return postponed
        }

        private static func fail(_ numbers: ClosedRange<Int>, _ postponed: inout PostponedLists) {
            for number in numbers { postponed.noteFailure(of: [ListIdentifier("\(number)")], at: .now) }
        }
    }

    /// One end of a round, and which counts it raises.
    struct End: Sendable {
        let isWhole, hasDecisions, foundWaiting: Bool
        let postponed: Postponed
        let inVain, withoutDecision: Bool

        init(
            isWhole: Bool = true, hasDecisions: Bool = false, foundWaiting: Bool = true,
            _ postponed: Postponed = .none, inVain: Bool, withoutDecision: Bool
        ) {
            (self.isWhole, self.hasDecisions, self.foundWaiting) = (isWhole, hasDecisions, foundWaiting)
            (self.postponed, self.inVain, self.withoutDecision) = (postponed, inVain, withoutDecision)
        }
    }

    @Test(
        "A round that ends counts as in vain, as without a decision, as both, or as neither",
        arguments: [
            End(inVain: true, withoutDecision: true),
            End(isWhole: false, inVain: false, withoutDecision: true),
            End(hasDecisions: true, inVain: false, withoutDecision: true),
            End(foundWaiting: false, inVain: false, withoutDecision: true),
            End(.brieflyUnavailable, inVain: true, withoutDecision: true),
            End(.longUnavailable, inVain: false, withoutDecision: true),
            End(.failing, inVain: false, withoutDecision: false),
            End(.tooManyFailing, inVain: true, withoutDecision: false),
            End(foundWaiting: false, .tooManyFailing, inVain: true, withoutDecision: false),
            End(isWhole: false, .tooManyFailing, inVain: false, withoutDecision: false),
            End(hasDecisions: true, .tooManyFailing, inVain: false, withoutDecision: false),
            End(.tooManyAndOneUnavailable, inVain: false, withoutDecision: false),
        ])
    func ends(end: End) {
        var rounds = FruitlessRounds()
        rounds.noteEnd(
            isWhole: end.isWhole, hasDecisions: end.hasDecisions, foundWaiting: end.foundWaiting,
            leavingOut: end.postponed.lists)
        #expect(rounds.inVain == (end.inVain ? 1 : 0))
        #expect(rounds.withoutDecision == (end.withoutDecision ? 1 : 0))
    }

    @Test("A decision halves the rounds in vain, and ends those without a decision")
    func decision() {
        var rounds = FruitlessRounds(inVain: 7, withoutDecision: 7)
        rounds.noteDecision()
        #expect((rounds.inVain, rounds.withoutDecision) == (3, 0))
    }

    @Test("If the next rounds leave out no list, only the rounds in vain are forgotten")
    func forgets() {
        var rounds = FruitlessRounds(inVain: 7, withoutDecision: 7)
        rounds.forgetInVain()
        #expect((rounds.inVain, rounds.withoutDecision) == (0, 7))
    }

    @Test(
        "The pause follows the rounds in vain, and otherwise two or more rounds without a decision, up to a limit",
        arguments: [
            (0, 0, nil, nil), (0, 1, nil, nil), (0, 2, 4, 4), (0, 10, 1_024, 1_024), (0, 11, 1_500, 2_048),
            (1, 0, 2, 2), (1, 20, 2, 2), (5, 0, 32, 32), (13, 0, 1_500, 8_192), (14, 0, 1_500, 15_000),
            (1_000, 1_000, 1_500, 15_000),
        ] as [(Int, Int, Int?, Int?)])
    func pauses(inVain: Int, withoutDecision: Int, short: Int?, long: Int?) {
        let rounds = FruitlessRounds(inVain: inVain, withoutDecision: withoutDecision)
        #expect(rounds.pause(isShort: true) == short.map { .milliseconds($0) })
        #expect(rounds.pause(isShort: false) == long.map { .milliseconds($0) })
    }

    @Test("Eight rounds in vain suggest that all requests wait, and no number of rounds without a decision")
    func suggests() {
        #expect(!FruitlessRounds(inVain: 7, withoutDecision: 100).suggestThatAllWait)
        #expect(FruitlessRounds(inVain: 8, withoutDecision: 0).suggestThatAllWait)
    }
}
