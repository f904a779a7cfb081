import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("A worker's batches of the oldest requests", .usualTimeLimit) struct OldestRequestsTests {
    private let now = ContinuousClock.now

    /// What a batch reports that found few requests which don't wait for others.
    private func entangled(_ lists: [ListIdentifier]) -> BatchReport {
        var report = decided(lists)
        report.claim.beyondLimit = 200
        (report.undecided.hasChangesOfList, report.undecided.count) = (true, 500)
        return report
    }

    @Test(
        "If most requests wait for other lists, the round goes on without these, in turns with batches of the oldest requests"
    )
    func oldestRequests() throws {
        var round = WorkerRound(QueueConfiguration())
        for list in ["z", "y", "x"] {
            let batch = try #require(round.beginTurn(isPollDue: false, at: now).batch)
            #expect(batch.scope.isWithPartners == (list == "z"))
            #expect(round.note(entangled(lists(list)), at: now).end?.isDecided == true)
            let oldest = try #require(round.beginTurn(isPollDue: false, at: now).batch)
            #expect(oldest.scope.isOldest)
            #expect(round.note(entangled(lists("a")), at: now).end?.isDecided == true)
        }
        #expect(round.beginTurn(isPollDue: false, at: now).batch?.scope.isNext(from: "x") == true)
    }

    @Test("If a batch of the oldest requests decides nothing, the round goes on in the same turn")
    func oldestRequestsInVain() throws {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(entangled(lists("z")), at: now)
        #expect(round.beginTurn(isPollDue: false, at: now).batch?.scope.isOldest == true)
        #expect(round.note(BatchReport(), at: now).batch?.scope.isNext(from: "z") == true)
    }

    /// A round with 300 postponed lists, whose next batch is for the oldest requests.
    private func roundThatSearchesOldest(at later: ContinuousClock.Instant) -> WorkerRound {
        var postponed = PostponedLists()
        postponed.noteUnavailable((1...300).map { ListIdentifier("\($0)") }, at: now)
        var round = WorkerRound(QueueConfiguration(), postponed: postponed)
        _ = round.beginTurn(isPollDue: false, at: later).batch
        _ = round.note(BatchReport(), at: later)
        #expect(round.beginTurn(isPollDue: false, at: later).batch?.scope.isOldest == true)
        return round
    }

    @Test("Postponed lists are tried by their names after a search for the oldest requests that decided nothing")
    func oldestDecidedNothing() throws {
        let later = now + .seconds(10)
        var round = roundThatSearchesOldest(at: later)
        var waits = BatchReport()
        (waits.claim.found, waits.claim.locked, waits.undecided.includeWaiting) = (1, lists("stuck"), true)
        _ = round.note(waits, at: later)
        _ = round.beginTurn(isPollDue: false, at: later)
        _ = round.note(BatchReport(), at: later)
        #expect(round.beginTurn(isPollDue: false, at: later).batch?.scope.named?.count == PostponedLists.largestGroup)
    }

    @Test("Postponed lists are retried later if other sessions have the lists of the oldest requests")
    func oldestUnavailable() {
        let later = now + .seconds(10)
        var round = roundThatSearchesOldest(at: later)
        _ = round.note(unavailable(lists("other")), at: later)
        let retriedLater = round.postponed.lists.count { round.postponed.postponements(of: $0) == 2 }
        #expect(retriedLater == PostponedLists.largestGroup)
    }
}
