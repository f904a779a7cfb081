import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("How a worker's turn begins", .usualTimeLimit) struct TurnBeginTests {
    private let now = ContinuousClock.now

    @Test("After a time-out of reading, only the statements for users' tables have a short limit")
    func readsPatiently() throws {
        let configuration = QueueConfiguration()
        func limit(_ round: inout WorkerRound) throws -> String? {
            let task = try #require(round.beginTurn(isPollDue: false, at: now).batch)
            return configuration.settings(for: task.limits).first { $0.0 == "statement_timeout" }?.1
        }
        var round = WorkerRound(configuration)
        #expect(try limit(&round) == "3000ms")
        round.readPatiently()
        #expect(try limit(&round) == "120000ms")
        let task = try #require(round.beginTurn(BatchShare(halvings: 1), isPollDue: false, at: now).batch)
        #expect(!task.limits.limitsReading && configuration.statementTimeoutSetting(for: task.limits) == "3000ms")
    }

    @Test("A worker's turn begins with a batch of the next lists")
    func beginsWithLists() throws {
        var round = WorkerRound(QueueConfiguration())
        let batch = try #require(round.beginTurn(isPollDue: false, at: now).batch)
        #expect(batch.scope.isNext(from: nil))
        #expect(batch.postponed.isEmpty)
    }

    @Test("A worker's turn begins with a poll of the queue if a poll is due")
    func beginsWithPoll() {
        var round = WorkerRound(QueueConfiguration())
        guard case .poll = round.beginTurn(isPollDue: true, at: now) else {
            Issue.record("no poll")
            return
        }
        #expect(round.notePoll().batch?.scope.isNext(from: nil) == true)
    }

    @Test("A worker that was just woken delays a due poll, but not twice")
    func pollAfterWakingUp() {
        var round = WorkerRound(QueueConfiguration())
        for turn in 1...4 {
            var action = round.beginTurn(isPollDue: true, at: now)
            let polls = if case .poll = action { true } else { false }
            // Turn 1 was not woken, so it polls. Turn 2 was woken and found nothing, so turn 3 polls.
            #expect(polls == (turn != 2), "turn \(turn)")
            if polls { action = round.notePoll() }
            #expect(round.note(BatchReport(), at: now).end?.isIdle == true)
        }
    }

    @Test("A worker's round that begins at a given list ends only after a full round from the first list")
    func beginsElsewhere() throws {
        var round = WorkerRound(QueueConfiguration())
        round.go(to: ListIdentifier("m"))
        let first = try #require(round.beginTurn(isPollDue: false, at: now).batch)
        #expect(first.scope.isNext(from: "m"))
        let second = try #require(round.note(BatchReport(), at: now).batch, "the lists before it are still to come")
        #expect(second.scope.isNext(from: nil))
        #expect(round.note(BatchReport(), at: now).end?.isIdle == true)
    }

    @Test("A worker begins a new turn after a failure in any state", arguments: [true, false])
    func failures(whilePolling: Bool) throws {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: whilePolling, at: now)
        #expect(round.beginTurn(isPollDue: false, at: now).batch?.postponed == PostponedNames.none)
        round.noteFailure(of: lists("a", "b"), at: now)
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(BatchReport(), at: now)
        // Either of the two lists may be the cause, so they are tried one by one.
        let retry = try #require(round.beginTurn(isPollDue: false, at: now).batch)
        #expect(retry.scope.named?.count == 1)
    }

    @Test("A round awaits only the event that its latest action asked for, and none between turns")
    func awaitedEvents() {
        var round = WorkerRound(QueueConfiguration())
        #expect(round.awaited.name == "none")
        _ = round.beginTurn(isPollDue: true, at: now)
        #expect(round.awaited.name == "poll")
        _ = round.notePoll()
        #expect(round.awaited.name == "batch")
        _ = round.note(decided(lists("a")), at: now)
        #expect(round.awaited.name == "none")
        _ = round.beginTurn(isPollDue: false, at: now)
        #expect(round.awaited.name == "batch")
        round.noteFailure(of: [], at: now)
        #expect(round.awaited.name == "none")
    }
}

@Suite("Events that a worker's round did not ask for", .usualTimeLimit) struct UnexpectedEventTests {
    @Test("A report of a batch before a turn stops the program")
    func reportBeforeTurn() async {
        await #expect(processExitsWith: .failure) {
            var round = WorkerRound(QueueConfiguration())
            _ = round.note(BatchReport(), at: .now)
        }
    }

    @Test("The report of a batch instead of a poll stops the program")
    func reportInsteadOfPoll() async {
        await #expect(processExitsWith: .failure) {
            var round = WorkerRound(QueueConfiguration())
            _ = round.beginTurn(isPollDue: true, at: .now)
            _ = round.note(BatchReport(), at: .now)
        }
    }

    @Test("A poll instead of a batch stops the program")
    func pollInsteadOfBatch() async {
        await #expect(processExitsWith: .failure) {
            var round = WorkerRound(QueueConfiguration())
            _ = round.beginTurn(isPollDue: false, at: .now)
            _ = round.notePoll()
        }
    }

    @Test("The last id instead of a batch stops the program")
    func lastIDInsteadOfBatch() async {
        await #expect(processExitsWith: .failure) {
            var round = WorkerRound(QueueConfiguration())
            _ = round.beginTurn(isPollDue: false, at: .now)
            _ = round.note(lastID: 1, at: .now)
        }
    }

    @Test("A failure of a batch that was reported already stops the program")
    func failureAfterReport() async {
        await #expect(processExitsWith: .failure) {
            var round = WorkerRound(QueueConfiguration())
            _ = round.beginTurn(isPollDue: false, at: .now)
            _ = round.note(BatchReport(), at: .now)
            round.noteFailure(of: [], at: .now)
        }
    }
}
