import Ordering
import TestLimit
import Testing

@testable import Daemon
@testable import MoveQueue

@Suite("What a worker does after a turn", .usualTimeLimit) struct AfterTurnTests {
    private static let due = ContinuousClock.now + .seconds(1)

    /// What the worker does after a turn with this result. By default, the daemon does not drain, and nothing allows a
    /// rest or an end.
    private func next(
        after result: WorkerRound.TurnResult, endsRound: Bool = false, drains: Bool = false,
        readsWholeQueue: Bool = false,
        needsPerson: Bool = false, mayRest: Bool = false, roundsInVain: Int = 0, isFirst: Bool = true,
        roundsWithoutDecision: Int = 0, pauseForServer: Duration? = nil
    ) -> AfterTurn {
        AfterTurn(
            WorkerRound.Turn(
                result: result, hasEndedRound: endsRound, hasMetAnotherWorker: false,
                fruitlessRounds: FruitlessRounds(inVain: roundsInVain, withoutDecision: roundsWithoutDecision)),
            pauseForServer: pauseForServer, isFirst: isFirst, drains: drains, readsWholeQueue: readsWholeQueue,
            needsPerson: needsPerson, mayRest: mayRest)
    }

    private func report(decided: Int = 0, failed: Int = 0) -> BatchReport {
        var report = BatchReport()
        report.decisions.applied = decided
        report.decisions.failures = (0..<failed).map {
            ListFailure(list: ListIdentifier(orderedTable: "items", key: "\($0)"), error: .settingsChanged)
        }
        return report
    }

    @Test("A worker pauses to gather requests, and after a batch that decided nothing", arguments: [true, false])
    func pauses(drains: Bool) {
        let gathering = WorkerRound.TurnResult.gathering(.milliseconds(7))
        #expect(next(after: gathering, drains: drains) == .pause(.milliseconds(7)))
        #expect(next(after: .undecided(report()), drains: drains) == .pause(AfterTurn.shortestPause))
    }

    @Test("A worker waits longer after each round in vain, up to 1.5 seconds")
    func waitsAfterRoundsInVain() {
        func next(_ rounds: Int) -> AfterTurn { self.next(after: .undecided(report()), roundsInVain: rounds) }
        #expect(next(1) == .waitAtMost(.milliseconds(2)))
        #expect(next(5) == .waitAtMost(.milliseconds(32)))
        #expect(next(11) == .waitAtMost(.milliseconds(1_500)))
        #expect(next(1_000) == .waitAtMost(.milliseconds(1_500)))
    }

    @Test("After rounds without a decision, a worker waits longer and longer, up to 1.5 seconds")
    func waitsAfterRoundsWithoutDecision() {
        func next(_ rounds: Int) -> AfterTurn { self.next(after: .undecided(report()), roundsWithoutDecision: rounds) }
        #expect(next(1) == .pause(AfterTurn.shortestPause))
        #expect(next(2) == .waitAtMost(.milliseconds(4)))
        #expect(next(20) == .waitAtMost(.milliseconds(1_500)))
        #expect(self.next(after: .decided(report(decided: 1)), roundsWithoutDecision: 20) == .goOn)
    }

    @Test(
        "After rounds in vain or without a decision, the workers of a daemon but the first wait up to 15 seconds, if it does not drain"
    )
    func othersWaitLonger() {
        func next(inVain: Int = 0, _ rounds: Int, drains: Bool) -> AfterTurn {
            self.next(
                after: .undecided(report()), drains: drains, roundsInVain: inVain, isFirst: false,
                roundsWithoutDecision: rounds)
        }
        #expect(next(2, drains: false) == .waitAtMost(.milliseconds(4)))
        #expect(next(20, drains: false) == .waitAtMost(.seconds(15)))
        #expect(next(inVain: 20, 20, drains: false) == .waitAtMost(.seconds(15)))
        #expect(next(20, drains: true) == .waitAtMost(.milliseconds(1_500)))
    }

    @Test("A worker waits for a server that fails, and never ends meanwhile", arguments: [true, false])
    func waitsForServer(drains: Bool) {
        let next = next(
            after: .undecided(report(failed: 1)), drains: drains, readsWholeQueue: true,
            roundsInVain: FruitlessRounds.mostInVain, pauseForServer: .seconds(3))
        #expect(next == .waitAtMost(.seconds(3)))
    }

    @Test("A worker that drains ends after many rounds in vain through the whole queue")
    func endsAfterRoundsInVain() {
        func next(_ rounds: Int, readsWholeQueue: Bool = true) -> AfterTurn {
            self.next(
                after: .undecided(report()), drains: true, readsWholeQueue: readsWholeQueue, roundsInVain: rounds)
        }
        #expect(next(FruitlessRounds.mostInVain - 1) == .waitAtMost(.milliseconds(128)))
        #expect(next(FruitlessRounds.mostInVain) == .end(.onlyWaitingWork, endsOthers: false))
        #expect(next(FruitlessRounds.mostInVain, readsWholeQueue: false) == .readWholeQueue)
    }

    @Test("A worker that decided requests goes on", arguments: [true, false])
    func goesOn(drains: Bool) {
        #expect(next(after: .decided(report(decided: 1)), drains: drains) == .goOn)
    }

    @Test(
        "A worker rests if another worker is enough, the round has ended, and no list failed", arguments: [true, false])
    func rests(drains: Bool) {
        func next(_ decided: Int = 1, failed: Int = 0, endsRound: Bool = true, mayRest: Bool = true) -> AfterTurn {
            self.next(
                after: .decided(report(decided: decided, failed: failed)), endsRound: endsRound, drains: drains,
                mayRest: mayRest)
        }
        #expect(next() == .rest(atMost: drains ? JoiningSchedule.usualSilence : JoiningSchedule.longestRest))
        #expect(next(100_000) == .goOn)
        #expect(next(failed: 1) == .goOn)
        #expect(next(endsRound: false) == .goOn)
        #expect(next(mayRest: false) == .goOn)
    }

    @Test("A worker of a daemon that goes on waits if it found nothing to do", arguments: [true, false])
    func waits(readsWholeQueue: Bool) {
        func next(_ result: WorkerRound.TurnResult) -> AfterTurn {
            self.next(after: result, readsWholeQueue: readsWholeQueue, needsPerson: true, mayRest: true)
        }
        #expect(next(.idle) == .wait(until: nil))
        #expect(next(.waiting) == .wait(until: nil))
        #expect(next(.postponed(until: Self.due)) == .wait(until: Self.due))
    }

    @Test("A worker that drains ends if it has read the whole queue, and otherwise reads it first")
    func drains() {
        func next(_ result: WorkerRound.TurnResult, _ readsWholeQueue: Bool) -> AfterTurn {
            self.next(after: result, drains: true, readsWholeQueue: readsWholeQueue, needsPerson: true)
        }
        #expect(next(.idle, true) == .end(.drained, endsOthers: true))
        #expect(next(.waiting, true) == .end(.onlyWaitingWork, endsOthers: true))
        #expect(next(.postponed(until: Self.due), true) == .end(.onlyWaitingWork, endsOthers: false))
        for result in [.idle, .waiting, .postponed(until: Self.due)] as [WorkerRound.TurnResult] {
            #expect(next(result, false) == .readWholeQueue)
        }
    }

    @Test("A worker that drains waits for postponed lists that may need no person", arguments: [true, false])
    func waitsForPostponed(readsWholeQueue: Bool) {
        let next = next(after: .postponed(until: Self.due), drains: true, readsWholeQueue: readsWholeQueue)
        #expect(next == .wait(until: Self.due))
    }
}
