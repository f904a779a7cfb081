import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("Lists that others crowd out of a batch", .usualTimeLimit) struct CrowdedOutListsTests {
    private let now = ContinuousClock.now

    @Test("A worker's turn decides a list alone if the last batch had crowded it out, and then continues")
    func crowdedOut() throws {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: false, at: now)
        var report = decided(lists("a", "b"))
        report.undecided.crowdedOut = lists("b")
        _ = round.note(report, at: now)
        let alone = try #require(round.beginTurn(isPollDue: true, at: now).afterPoll(&round).batch)
        #expect(alone.scope.named == lists("b"))
        let next = try #require(round.note(BatchReport(), at: now).batch, "nothing of it was decided")
        #expect(next.scope.isNext(from: nil))
    }

    @Test("Crowded-out lists whose requests only wait are served once each, and then the worker rests")
    func crowdedOutWaiting() throws {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: false, at: now)
        var found = BatchReport()
        (found.claim.found, found.claim.lastFound, found.undecided.includeWaiting) = (3, ListIdentifier("a"), true)
        found.undecided.crowdedOut = lists("a", "b")
        #expect(round.note(found, at: now).end?.isUndecided == true)
        var waits = BatchReport()
        (waits.claim.found, waits.undecided.includeWaiting) = (1, true)
        #expect(round.beginTurn(isPollDue: false, at: now).batch?.scope.named == lists("a"))
        #expect(round.note(waits, at: now).batch?.scope.named == lists("b"))
        #expect(round.note(waits, at: now).batch?.scope.isNext(from: nil) == true)
        #expect(round.note(found, at: now).end?.isWaiting == true)
        // The pause may have ended meanwhile.
        let later = now + .seconds(6)
        _ = round.beginTurn(isPollDue: false, at: later)
        #expect(round.note(found, at: later).end?.isWaiting == true)
        _ = round.beginTurn(isPollDue: false, at: later)
        #expect(round.note(found, at: later).end?.isUndecided == true)
    }

    @Test("A list is not taken for one that only waits if its requests were not read")
    func crowdedOutUnread() throws {
        var round = WorkerRound(QueueConfiguration())
        var found = decided(lists("small"))
        (found.claim.waiting, found.undecided.crowdedOut) = (lists("paused"), lists("a"))
        var waits = BatchReport()
        (waits.claim.found, waits.claim.waiting) = (1, lists("paused"))
        /// Ends a turn with a batch of the round that crowds out list a, and then begins another one.
        func nextBatch() -> BatchTask? {
            _ = round.note(found, at: now)
            return round.beginTurn(isPollDue: false, at: now).batch
        }
        _ = round.beginTurn(isPollDue: false, at: now)
        #expect(nextBatch()?.scope.named == lists("a"))
        var unread = waits
        unread.isOutdated = true
        _ = round.note(unread, at: now)
        #expect(nextBatch()?.scope.named == lists("a"))
        _ = round.note(waits, at: now)
        #expect(nextBatch()?.scope.isNext(from: nil) == true, "it only waits")
        #expect(round.leavesOutLists)
        round.serveAllLists()
        #expect(!round.leavesOutLists)
        #expect(nextBatch()?.scope.named == lists("a"))
        _ = round.note(waits, at: now)
        #expect(round.leavesOutLists, "requests were decided since then, and may have ended the wait")
    }

    @Test("A list that a retry without decisions crowded out is served alone next")
    func crowdedOutOfRetry() throws {
        var postponed = PostponedLists()
        postponed.noteUnavailable(lists("a", "b"), at: now)
        var round = WorkerRound(QueueConfiguration(), postponed: postponed)
        let later = now + .seconds(10)
        _ = round.beginTurn(isPollDue: false, at: later)
        _ = round.note(BatchReport(), at: later)
        let retried = try #require(round.beginTurn(isPollDue: false, at: later).batch?.scope.named)
        #expect(Set(retried) == Set(lists("a", "b")))
        var report = BatchReport()
        (report.claim.found, report.claim.locked, report.undecided.crowdedOut) = (2, lists("a", "b"), lists("b"))
        _ = round.note(report, at: later)
        #expect(round.beginTurn(isPollDue: false, at: later).batch?.scope.named == lists("b"))
    }

    @Test("A failing list that a retry crowded out is not served alone, because its batches are small")
    func failingList() throws {
        var postponed = PostponedLists()
        postponed.noteSuspicion(of: lists("a", "b", "c", "d"), at: now)
        var round = WorkerRound(QueueConfiguration(), postponed: postponed)
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(BatchReport(), at: now)
        let tried = try #require(round.beginTurn(isPollDue: false, at: now).batch?.scope.named)
        var report = BatchReport()
        (report.claim.found, report.claim.locked, report.undecided.crowdedOut) = (tried.count, tried, tried)
        report.undecided.count = 1
        _ = round.note(report, at: now)
        #expect(round.beginTurn(isPollDue: false, at: now).batch?.scope.named == nil)
    }

    /// Whether lists whose requests only wait are still left out after a round that ends so long after the first of them was served.
    private func areLeftOut(
        after time: Duration, count: Int = 1, isWhole: Bool = true, findsOthers: Bool = false
    ) -> Bool {
        var crowdedOut = CrowdedOutLists()
        for number in 1...count {
            crowdedOut.noteOnlyWaiting(ListIdentifier("\(number)"), at: now + .milliseconds(number - 1))
        }
        if findsOthers { crowdedOut.replace(by: lists("other")) }
        crowdedOut.endRound(isWhole: isWhole, at: now + time)
        return crowdedOut.leavesOutLists
    }

    @Test("Lists whose requests only wait are served again after 5 s, and 20 ms more for each list")
    func pauseOfWaitingLists() {
        #expect(areLeftOut(after: .milliseconds(5_019)))
        #expect(!areLeftOut(after: .milliseconds(5_020)))
        #expect(areLeftOut(after: .milliseconds(6_999), count: 100))
        #expect(!areLeftOut(after: .milliseconds(7_000), count: 100))
    }

    @Test(
        "Lists whose requests only wait are served again only after 30 s if the round was a part, or crowded out other lists",
        arguments: [(false, false), (true, true), (false, true)])
    func longPauseOfWaitingLists(isWhole: Bool, findsOthers: Bool) {
        #expect(areLeftOut(after: .milliseconds(30_019), isWhole: isWhole, findsOthers: findsOthers))
        #expect(!areLeftOut(after: .milliseconds(30_020), isWhole: isWhole, findsOthers: findsOthers))
    }
}
