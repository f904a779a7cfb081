import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("A worker's turns for postponed lists", .usualTimeLimit) struct PostponedTurnsTests {
    private let now = ContinuousClock.now

    @Test("Only a patient worker gives the statements of a list more time after each failure")
    func timeOfListAlone() throws {
        let (bad, later) = (ListIdentifier("bad"), now + .seconds(1_000))
        for isPatient in [true, false] {
            var postponed = PostponedLists()
            postponed.noteFailure(of: [bad], at: now)
            var round = WorkerRound(QueueConfiguration(), isPatient: isPatient, postponed: postponed)
            var limits: [Duration?] = []
            for _ in 1...3 {
                _ = round.beginTurn(isPollDue: false, at: later)
                _ = round.note(decided(lists("a")), at: later)
                limits.append(try #require(round.beginTurn(isPollDue: false, at: later).batch).limits.statement)
                round.noteFailure(of: [bad], at: now)
            }
            #expect(limits == (isPatient ? [2, 4, 8] : [1, 1, 1]).map { .seconds($0) })
        }
    }

    @Test("A list that failed alone is retried in smaller batches, in turn with the other lists")
    func retries() throws {
        var round = WorkerRound(QueueConfiguration())
        let (bad, later) = (ListIdentifier("bad"), now + .seconds(1_000))
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(failed(bad, among: lists("a")), at: now)
        var sizes: [Int] = []
        for _ in 1...3 {
            let retry = try #require(round.beginTurn(isPollDue: false, at: later).batch)
            #expect(retry.scope.named == [bad])
            sizes.append(retry.limits.requests)
            round.noteFailure(of: [bad], at: now)
            let other = try #require(round.beginTurn(isPollDue: false, at: later).batch)
            #expect(other.scope.isNext(from: nil))
            #expect(other.postponed.lists == [bad])
            _ = round.note(decided(lists("a")), at: now)
        }
        #expect(sizes == [2_000, 1_000, 500])
    }

    @Test("Lists that other sessions had are tried together at first, and failed lists are searched at once")
    func triesTogether() throws {
        for failed in [false, true] {
            var postponed = PostponedLists()
            if failed {
                postponed.noteSuspicion(of: lists("a", "b"), at: now)
            } else {
                postponed.noteUnavailable(lists("a", "b"), at: now)
            }
            var round = WorkerRound(QueueConfiguration(), postponed: postponed)
            _ = round.beginTurn(isPollDue: false, at: now)
            _ = round.note(BatchReport(), at: now)
            let retry = try #require(round.beginTurn(isPollDue: false, at: now + .seconds(10)).batch)
            #expect(retry.scope.areSuspects == failed)
        }
    }

    @Test("A postponed list is forgotten when its retry succeeds")
    func forgets() throws {
        var round = WorkerRound(QueueConfiguration())
        let (bad, later) = (ListIdentifier("bad"), now + .seconds(1_000))
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(failed(bad, among: lists("a")), at: now)
        _ = round.beginTurn(isPollDue: false, at: later)
        #expect(round.note(decided([bad]), at: later).end?.isDecided == true)
        _ = round.beginTurn(isPollDue: false, at: later)
        _ = round.note(decided(lists("a")), at: later)
        #expect(round.beginTurn(isPollDue: false, at: later).batch?.scope.isNext(from: nil) == true)
    }

    @Test(
        "Postponed lists without pending requests are forgotten, however many there are", arguments: [10, 300, 5_000])
    func manyEmptyPostponedLists(count: Int) {
        var postponed = PostponedLists()
        postponed.noteUnavailable((1...count).map { ListIdentifier("\($0)") }, at: now)
        var round = WorkerRound(QueueConfiguration(), postponed: postponed)
        var steps = 0
        while !round.postponed.isEmpty, steps < 1_000 {
            steps += 1
            var action = round.beginTurn(isPollDue: false, at: now + .seconds(steps))
            while action.batch != nil, steps < 1_000 {
                steps += 1
                action = round.note(BatchReport(), at: now + .seconds(steps))
            }
        }
        #expect(round.postponed.isEmpty, "after \(steps) steps")
    }

    @Test("A patient worker waits for a list that others had at each of many attempts, at most once in 5 s")
    func waitsForList() throws {
        var postponed = PostponedLists()
        for _ in 1...PostponedLists.attemptsWithoutWaiting { postponed.noteUnavailable(lists("a", "b"), at: now) }
        for isPatient in [true, false] {
            var round = WorkerRound(QueueConfiguration(), isPatient: isPatient, postponed: postponed)
            let later = now + .seconds(10)
            var awaited: [ContinuousClock.Instant] = []
            for turn in 0..<400 {
                let time = later + .milliseconds(100 * turn)
                let batch = try #require(round.beginTurn(isPollDue: false, at: time).batch)
                if batch.scope.awaited != nil {
                    awaited.append(time)
                    #expect(batch.limits.statement == .seconds(2), "other sessions wait for the rows meanwhile")
                }
                let tried = batch.scope.awaited.map { [$0] } ?? batch.scope.named ?? []
                _ = round.note(unavailable(tried), at: time)
            }
            #expect(isPatient ? awaited.count > 2 : awaited.isEmpty)
            #expect(zip(awaited, awaited.dropFirst()).allSatisfy { $1 - $0 >= .seconds(5) })
        }
    }

    @Test(
        "If there was no time to find all refused requests, fewer requests are tried together next, and then more again"
    )
    func searchesInFewerRequests() throws {
        var postponed = PostponedLists()
        postponed.noteSuspicion(of: lists("a", "b", "c", "d"), at: now)
        var round = WorkerRound(QueueConfiguration(), postponed: postponed)
        func sizeOfNextRetry(at time: ContinuousClock.Instant) throws -> Int {
            for _ in 1...10 {
                let batch = try #require(round.beginTurn(isPollDue: false, at: time).batch)
                if batch.scope.named != nil { return batch.limits.requests }
                _ = round.note(BatchReport(), at: time)
            }
            let size: Int? = nil
            return try #require(size, "waited 10 turns for a batch of the suspected lists")
        }
        let usual = BatchLimits().requests
        #expect(try sizeOfNextRetry(at: now) == usual)
        var report = decided(lists("a", "b"))
        (report.decisions.applied, report.decisions.suspected) = (100, Set(lists("a", "b")))
        _ = round.note(report, at: now)
        #expect(try sizeOfNextRetry(at: now) == 200)
        report.decisions.suspected = []
        report.decisions.failures = lists("a", "b").map { ListFailure(list: $0, error: .settingsChanged) }
        _ = round.note(report, at: now)
        #expect(try sizeOfNextRetry(at: now + .seconds(1)) == 400)
    }

    @Test("A list for which there was no time even alone is retried in batches of half the size, after a pause")
    func noTimeForListAlone() throws {
        var round = WorkerRound(QueueConfiguration())
        let slow = ListIdentifier("slow")
        var suspected = BatchReport()
        (suspected.claim.found, suspected.claim.lastFound, suspected.claim.locked) = (1, slow, [slow])
        suspected.decisions.suspected = [slow]
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(suspected, at: now)
        var sizes: [Int] = []
        for attempt in 1...4 {
            let later = now + .seconds(1_000 * attempt)
            let retry = try #require(round.beginTurn(isPollDue: false, at: later).batch)
            #expect(retry.scope.named == [slow])
            sizes.append(retry.limits.requestsPerList)
            _ = round.note(suspected, at: later)
            #expect(try #require(round.postponed.nextDue) > later)
            _ = round.beginTurn(isPollDue: false, at: later)
            _ = round.note(BatchReport(), at: later)
        }
        #expect(sizes == [1_000, 500, 250, 125])
    }

    @Test("Slow lists that exchange items are tried in groups that get smaller, in the end alone")
    func groupsOfPartners() throws {
        let names = (1...10).map { ListIdentifier("\($0)") }
        var postponed = PostponedLists()
        postponed.noteSuspicion(of: names, at: now)
        var turns = PostponedTurns(postponed, fullBatch: 100, isPatient: false)
        // Each batch claims all ten lists, and has no time for any request.
        var report = BatchReport()
        (report.claim.found, report.claim.locked) = (names.count, names)
        report.decisions.suspected = Set(names)
        var sizes: Set<Int> = []
        for _ in 1...40 {
            guard let (retry, task) = turns.next(BatchLimits(), at: now) else { break }
            sizes.insert(try #require(task.scope.named).count)
            turns.noteFailures(of: report, retry, at: now)
            turns.noteRetry(report, retry, at: now)
        }
        #expect(sizes == [5, 2, 1])
        #expect(turns.next(BatchLimits(), at: now) == nil, "each list has failed alone, and waits")
    }

    @Test("Unavailable lists are tried again without the requests of failing lists with which they may exchange items")
    func unavailableBesideFailing() throws {
        var postponed = PostponedLists()
        let (unavailable, failing) = (ListIdentifier("unavailable"), ListIdentifier("failing"))
        postponed.noteFailure(of: [failing], at: now + .seconds(60))
        postponed.noteUnavailable([unavailable], at: now)
        var turns = PostponedTurns(postponed, fullBatch: 100, isPatient: false)
        let next = turns.next(BatchLimits(), at: now + .seconds(1))
        let task = try #require(next?.1)
        #expect(task.scope.named == [unavailable] && task.postponed.lists == [failing])
    }

    @Test("As long as there is no time for any request, half as many are tried each time, down to one")
    func searchesDownToOneRequest() throws {
        let names = lists("a", "b")
        var postponed = PostponedLists()
        postponed.noteSuspicion(of: names, at: now)
        var turns = PostponedTurns(postponed, fullBatch: 100, isPatient: false)
        var report = BatchReport()
        (report.claim.found, report.claim.locked, report.decisions.suspected) = (2, names, Set(names))
        var sizes: [Int] = []
        for attempt in 1...7 {
            let next = turns.next(BatchLimits(), at: now + .seconds(60 * attempt))
            let (retry, task) = try #require(next)
            sizes.append(task.limits.requests)
            turns.noteFailures(of: report, retry, at: now + .seconds(60 * attempt))
            turns.noteRetry(report, retry, at: now + .seconds(60 * attempt))
        }
        #expect(sizes.dropFirst() == [16, 8, 4, 2, 1, 1])
    }

    @Test("The pauses of a list go on growing although a batch of it was too small for any request")
    func tooSmallBatch() throws {
        let list = ListIdentifier("list")
        var postponed = PostponedLists()
        for _ in 1...5 { postponed.noteFailure(of: [list], at: now) }
        var turns = PostponedTurns(postponed, fullBatch: 100, isPatient: false)
        var report = BatchReport()
        (report.claim.found, report.claim.locked, report.undecided.count) = (1, [list], 1)
        let later = now + .seconds(60)
        let next = turns.next(BatchLimits(), at: later)
        let retry = try #require(next?.0)
        turns.noteRetry(report, retry, at: later)
        #expect(turns.postponed.postponements(of: list) == 6)
        #expect(try #require(turns.postponed.nextDue) > later)
        #expect(!turns.postponed.isUnavailable(list), "its next batch searches too, and is as small")
    }

    @Test("A list that succeeded in a smaller batch continues at once with batches that double")
    func growsAgain() throws {
        var round = WorkerRound(QueueConfiguration())
        let (slow, later) = (ListIdentifier("slow"), now + .seconds(1_000))
        for _ in 1...3 {
            _ = round.beginTurn(isPollDue: false, at: now)
            round.noteFailure(of: [slow], isCostly: true, at: now)
        }
        var sizes: [Int] = []
        for _ in 1...6 {
            let batch = try #require(round.beginTurn(isPollDue: false, at: later).batch)
            if batch.scope.named == [slow] { sizes.append(batch.limits.requestsPerList) }
            _ = round.note(decided(batch.scope.named ?? lists("a")), at: later)
        }
        #expect(sizes == [125, 250, 500], "then the list is one of many again")
    }

    @Test("A retried list stays postponed if its batch was outdated")
    func retryOfOutdatedBatch() throws {
        var round = WorkerRound(QueueConfiguration())
        let (bad, later) = (ListIdentifier("bad"), now + .seconds(1_000))
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(failed(bad, among: lists("a")), at: now)
        _ = round.beginTurn(isPollDue: false, at: later)
        var report = BatchReport()
        report.isOutdated = true
        #expect(round.note(report, at: later).end?.isUndecided == true)
        #expect(try #require(round.beginTurn(isPollDue: false, at: later).batch).postponed.lists == [bad])
    }

    @Test(
        "Several lists are tried together with as many requests of each as the list with the fewest failures may have")
    func limitsOfSeveralLists() throws {
        /// The requests of each list in a batch of lists that have failed so often, and that other sessions have since.
        func requestsPerList(afterFailures failures: [Int], of usual: BatchLimits = BatchLimits()) throws -> Int {
            var postponed = PostponedLists()
            let names = failures.indices.map { ListIdentifier("\($0)") }
            for (list, count) in zip(names, failures) {
                for _ in 0..<count { postponed.noteFailure(of: [list], at: now) }
            }
            postponed.noteUnavailable(names, at: now)
            var turns = PostponedTurns(postponed, fullBatch: usual.requests, isPatient: false)
            let next = turns.next(usual, at: now + .seconds(60))
            let task = try #require(next?.1)
            #expect(task.scope.named?.count == failures.count)
            return task.limits.requestsPerList
        }
        #expect(try requestsPerList(afterFailures: [3, 0]) == 1_000)
        #expect(try requestsPerList(afterFailures: [3, 2]) == 250)
        var small = BatchLimits()
        small.requestsPerList = 1
        #expect(try requestsPerList(afterFailures: [3, 2], of: small) == 1)
    }
}
