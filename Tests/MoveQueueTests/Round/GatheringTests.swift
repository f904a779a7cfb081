import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("A worker that waits for more requests", .usualTimeLimit) struct GatheringTests {
    private let now = ContinuousClock.now

    /// The report of a batch that decided this many requests of one list, all that were pending.
    private func reportOfDeciding(_ requests: Int) -> BatchReport {
        var report = decided(lists("a"))
        report.decisions.applied = requests
        return report
    }

    private func patientRound(_ maxDelay: Duration = .milliseconds(20)) -> WorkerRound {
        var configuration = QueueConfiguration()
        configuration.maxDelay = maxDelay
        return WorkerRound(configuration)
    }

    /// A round that has decided this many requests, all that were pending.
    private func round(afterDeciding requests: Int, maxDelay: Duration = .milliseconds(20)) -> WorkerRound {
        var round = patientRound(maxDelay)
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(reportOfDeciding(requests), at: now)
        return round
    }

    /// Whether the next turn waits for more requests.
    private func isGathering(_ round: WorkerRound) -> Bool {
        var round = round
        return round.beginTurn(isPollDue: false, at: now).readsLastID
    }

    @Test("A worker waits for more requests while requests keep arriving, up to the longest delay")
    func waitsForMoreRequests() {
        var round = round(afterDeciding: 100)
        #expect(isGathering(round))
        var (pauses, time, id): ([Duration], ContinuousClock.Instant, Int64) = ([], now, 1_000)
        while round.beginTurn(isPollDue: false, at: time).readsLastID, pauses.count < 10 {
            guard let pause = round.note(lastID: id, at: time).end?.pause else { break }
            pauses.append(pause)
            // Each pause takes a little longer than requested.
            (time, id) = (time + pause + .milliseconds(1), id + 1)
        }
        #expect(pauses == [5, 5, 5, 2].map { .milliseconds($0) })
        #expect(!isGathering(round))
    }

    @Test("A worker stops waiting when no request arrives during a pause")
    func stopsWaitingWithoutRequests() {
        var round = round(afterDeciding: 100)
        _ = round.beginTurn(isPollDue: false, at: now)
        #expect(round.note(lastID: 7, at: now).end?.pause == .milliseconds(5))
        _ = round.beginTurn(isPollDue: false, at: now)
        #expect(round.note(lastID: 7, at: now + .milliseconds(1)).batch?.scope.isNext(from: nil) == true)
        #expect(!isGathering(round))
    }

    @Test("A worker stops waiting when a batch is full")
    func stopsWaitingAtFullBatch() {
        var round = round(afterDeciding: 100)
        _ = round.beginTurn(isPollDue: false, at: now)
        #expect(round.note(lastID: 7, at: now).end?.pause != nil)
        _ = round.beginTurn(isPollDue: false, at: now)
        let full = Int64(7 + BatchLimits().requests)
        #expect(round.note(lastID: full, at: now + .milliseconds(1)).batch != nil)
    }

    @Test("A worker does not wait after few requests, after a full batch, or if the longest delay is 0")
    func doesNotWait() {
        #expect(!isGathering(patientRound()), "the first batch after a quiet time")
        #expect(!isGathering(round(afterDeciding: 15)))
        #expect(!isGathering(round(afterDeciding: BatchLimits().requests)))
        #expect(!isGathering(round(afterDeciding: 100, maxDelay: .zero)))
    }

    @Test("A worker does not wait if its batch left requests pending")
    func leftRequests() {
        var round = patientRound()
        _ = round.beginTurn(isPollDue: false, at: now)
        var report = reportOfDeciding(100)
        report.undecided.count = 1
        _ = round.note(report, at: now)
        #expect(!isGathering(round))
    }

    @Test("A worker waits after several batches that decided enough requests together")
    func waitsAfterSeveralBatches() throws {
        var round = patientRound()
        let asked = try #require(round.beginTurn(isPollDue: false, at: now).batch?.scope.lists)
        var report = reportOfDeciding(10)
        report.claim.found = asked
        _ = round.note(report, at: now)
        #expect(!isGathering(round))
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(reportOfDeciding(6), at: now)
        #expect(isGathering(round))
    }

    @Test("A worker retries postponed lists while it waits for more requests")
    func retriesWhileWaiting() throws {
        var round = patientRound()
        let (bad, later) = (ListIdentifier("bad"), now + .seconds(1_000))
        _ = round.beginTurn(isPollDue: false, at: now)
        var report = failed(bad, among: lists("a"))
        report.decisions.applied = 100
        _ = round.note(report, at: now)
        #expect(isGathering(round))
        #expect(try #require(round.beginTurn(isPollDue: false, at: later).batch).scope.named == [bad])
        _ = round.note(BatchReport(), at: later)
        #expect(round.beginTurn(isPollDue: false, at: later).readsLastID)
    }

    @Test("A round that waits for more requests awaits the last id, and nothing between turns")
    func awaitedEvents() {
        var round = round(afterDeciding: 100)
        #expect(round.awaited.name == "none")
        _ = round.beginTurn(isPollDue: false, at: now)
        #expect(round.awaited.name == "lastID")
        _ = round.note(lastID: 1, at: now)
        #expect(round.awaited.name == "none")
    }
}
