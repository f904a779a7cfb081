import Ordering
import Testing

@testable import MoveQueue

@Suite("A worker's round", .timeLimit(.minutes(30))) struct WorkerRoundTests {
    private let now = ContinuousClock.now

    private func lists(_ names: String...) -> [ListIdentifier] { names.map { ListIdentifier($0) } }

    /// What a batch reports that found these lists, in the order of the round, and decided a request of each.
    private func decided(_ lists: [ListIdentifier], found: Int? = nil) -> BatchReport {
        var report = BatchReport()
        (report.claim.found, report.claim.lastFound, report.claim.locked) = (found ?? lists.count, lists.last, lists)
        report.decisions.applied = lists.count
        return report
    }

    private func unavailable(_ lists: [ListIdentifier]) -> BatchReport {
        var report = BatchReport()
        (report.claim.found, report.claim.lastFound, report.claim.lockedByOthers) = (lists.count, lists.last, lists)
        return report
    }

    private func failed(_ list: ListIdentifier, among others: [ListIdentifier]) -> BatchReport {
        var report = decided(others)
        report.decisions.failures = [ListFailure(list: list, error: .settingsChanged)]
        return report
    }

    // MARK: The first action of a turn

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

    // MARK: What a batch of the next lists reports

    @Test("A worker's turn continues after the last found list, and at the beginning after the very last list")
    func continuesAfterLastList() throws {
        var round = WorkerRound(QueueConfiguration())
        let asked = try #require(round.beginTurn(isPollDue: false, at: now).batch?.scope.lists)
        #expect(round.note(decided(lists("z", "y"), found: asked), at: now).end?.isDecided == true)
        let second = try #require(round.beginTurn(isPollDue: false, at: now).batch)
        #expect(second.scope.isNext(from: "y"))
        #expect(round.note(decided(lists("b", "a")), at: now).end?.isDecided == true)
        #expect(round.beginTurn(isPollDue: false, at: now).batch?.scope.isNext(from: nil) == true)
    }

    @Test(
        "A worker's round goes on behind the last list for which there was a lock, if there was none for other lists that were found"
    )
    func listsWithoutLocks() throws {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: false, at: now)
        var report = decided(lists("z", "y"))
        report.claim.beyondLimit = 200
        #expect(round.note(report, at: now).end?.isDecided == true)
        #expect(round.beginTurn(isPollDue: false, at: now).batch?.scope.isNext(from: "y") == true)
    }

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

    @Test(
        "A worker meets another one if other sessions have most of the next lists of its round", arguments: [1, 2, 3])
    func meetsAnotherWorker(others: Int) {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: false, at: now)
        var report = decided(lists("a", "b"))
        report.claim.lockedByOthers = (1...others).map { ListIdentifier("other \($0)") }
        #expect(round.note(report, at: now).turn?.hasMetAnotherWorker == (others > 2))
    }

    @Test("A batch that found no more lists than it wanted ends the round") func endsRound() throws {
        var round = WorkerRound(QueueConfiguration())
        let asked = try #require(round.beginTurn(isPollDue: false, at: now).batch?.scope.lists)
        var report = decided(lists("a"))
        report.claim.found = asked
        #expect(round.note(report, at: now).turn?.hasEndedRound == false)
        _ = round.beginTurn(isPollDue: false, at: now)
        #expect(round.note(decided(lists("b")), at: now).turn?.hasEndedRound == true)
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

    @Test("A worker's turn reads the same lists again if a transaction ended that was passed over")
    func lostProgress() throws {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: false, at: now)
        var report = BatchReport()
        report.hasLostProgress = true
        #expect(try #require(round.note(report, at: now).batch).scope.isNext(from: nil))
    }

    @Test("A worker's turn reads the same lists again, with their partners, if the lists have changes of list")
    func partners() throws {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(decided(lists("a")), at: now)
        let plain = try #require(round.beginTurn(isPollDue: false, at: now).batch)
        #expect(!plain.scope.isWithPartners)
        var report = decided(lists("a"))
        (report.undecided.hasChangesOfList, report.undecided.count) = (true, 1)
        (report.decisions.applied, report.undecided.obstructed) = (0, Set(lists("a")))
        let again = try #require(round.note(report, at: now).batch)
        #expect(again.scope.isWithPartners)
        #expect(again.scope.isNext(from: nil))
        #expect(again.postponed.isEmpty, "the partners' locks may be free")
    }

    @Test(
        "A worker's turn decides nothing if other sessions have the locks, and leaves those lists out until they are due"
    )
    func undecided() throws {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: false, at: now)
        #expect(round.note(unavailable(lists("a")), at: now).end?.isUndecided == true)
        let next = try #require(round.beginTurn(isPollDue: false, at: now).batch)
        #expect(next.postponed == lists("a"))
        guard case .postponed(let due) = round.note(BatchReport(), at: now).end else {
            Issue.record("the round is not postponed")
            return
        }
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(BatchReport(), at: now)
        #expect(try #require(round.beginTurn(isPollDue: false, at: due).batch).scope.named == lists("a"))
    }

    @Test(
        "A worker's turn asks for more lists each time that it finds only locked lists, and reads past postponed lists")
    func manyUnavailableLists() throws {
        var round = WorkerRound(QueueConfiguration())
        var asked: [Int] = []
        for turn in 0..<12 {
            let scope = try #require(round.beginTurn(isPollDue: false, at: now).batch).scope
            let count = try #require(scope.lists)
            asked.append(count)
            #expect(scope.readingAhead ?? 0 > asked.dropLast().reduce(0, +))
            _ = round.note(unavailable((0..<count).map { ListIdentifier("\(turn).\($0)") }), at: now)
        }
        #expect(asked == asked.sorted() && asked.first == 8 && asked.last == 256, "\(asked)")
    }

    @Test("A worker's turn says so if all pending requests wait for a person")
    func waiting() {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: false, at: now)
        var report = BatchReport()
        (report.claim.found, report.claim.lastFound) = (1, ListIdentifier("a"))
        report.claim.waiting = lists("a")
        #expect(round.note(report, at: now).end?.isWaiting == true)
    }

    // MARK: The crowded-out list

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

    @Test("Rounds in vain are those that decide nothing beside waiting lists, while no list is postponed for long")
    func roundsInVain() {
        var round = WorkerRound(QueueConfiguration())
        /// Ends a turn with a batch that finds the last list of the round, and returns how many rounds were in vain until then.
        func rounds(after report: BatchReport) -> Int? {
            _ = round.beginTurn(isPollDue: false, at: now)
            return round.note(report, at: now).turn?.roundsInVain
        }
        var vain = BatchReport()
        (vain.claim.found, vain.claim.locked, vain.claim.waiting) = (1, lists("a"), lists("paused"))
        vain.undecided.count = 1
        #expect((1...3).map { _ in rounds(after: vain) } == [1, 2, 3])
        #expect(rounds(after: decided(lists("b"))) == 1, "halved")
        #expect(rounds(after: vain) == 2)
        var withoutWaiting = vain
        withoutWaiting.claim.waiting = []
        #expect(rounds(after: withoutWaiting) == 2)
        var besideOthers = vain
        besideOthers.claim.lockedByOthers = lists("locked")
        #expect((1...6).map { _ in rounds(after: besideOthers) } == [3, 4, 5, 5, 5, 5], "a list is postponed for long")
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
        unread.hasLostProgress = true
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

    // MARK: Lists that are retried

    @Test("Only a patient worker gives the statements of a list more time after each failure")
    func timeOfListAlone() throws {
        let (bad, later) = (ListIdentifier("bad"), now + .seconds(1_000))
        for isPatient in [true, false] {
            var round = WorkerRound(QueueConfiguration(), isPatient: isPatient)
            round.noteFailure(of: [bad], at: now)
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
            #expect(other.postponed == [bad])
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

    @Test("A retried list stays postponed if the progress of reading was lost")
    func retryWithLostProgress() throws {
        var round = WorkerRound(QueueConfiguration())
        let (bad, later) = (ListIdentifier("bad"), now + .seconds(1_000))
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(failed(bad, among: lists("a")), at: now)
        _ = round.beginTurn(isPollDue: false, at: later)
        var report = BatchReport()
        report.hasLostProgress = true
        #expect(round.note(report, at: later).end?.isUndecided == true)
        #expect(try #require(round.beginTurn(isPollDue: false, at: later).batch).postponed == [bad])
    }

    // MARK: Failures

    @Test("A worker begins a new turn after a failure in any state", arguments: [true, false])
    func failures(whilePolling: Bool) throws {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: whilePolling, at: now)
        #expect(round.beginTurn(isPollDue: false, at: now).batch?.postponed == [])
        round.noteFailure(of: lists("a", "b"), at: now)
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(BatchReport(), at: now)
        // Of two lists, either may be to blame: they are tried one by one.
        let retry = try #require(round.beginTurn(isPollDue: false, at: now).batch)
        #expect(retry.scope.named?.count == 1)
    }

    // MARK: Waiting for more requests

    /// The report of a batch that decided this many requests of one list, all that were pending.
    private func decided(_ requests: Int) -> BatchReport {
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
        _ = round.note(decided(requests), at: now)
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
        var report = decided(100)
        report.undecided.count = 1
        _ = round.note(report, at: now)
        #expect(!isGathering(round))
    }

    @Test("A worker waits after several batches that decided enough requests together")
    func waitsAfterSeveralBatches() throws {
        var round = patientRound()
        let asked = try #require(round.beginTurn(isPollDue: false, at: now).batch?.scope.lists)
        var report = decided(10)
        report.claim.found = asked
        _ = round.note(report, at: now)
        #expect(!isGathering(round))
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(decided(6), at: now)
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

    /// Another event stops the program, which no test shows: it would have to start a program that stops.
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
        var gathering = self.round(afterDeciding: 100)
        #expect(gathering.awaited.name == "none")
        _ = gathering.beginTurn(isPollDue: false, at: now)
        #expect(gathering.awaited.name == "lastID")
        _ = gathering.note(lastID: 1, at: now)
        #expect(gathering.awaited.name == "none")
    }
}

extension WorkerRound.AwaitedEvent {
    fileprivate var name: String {
        switch self {
        case .none: "none"
        case .poll: "poll"
        case .lastID: "lastID"
        case .batch: "batch"
        }
    }
}

extension WorkerRound.Action {
    fileprivate var readsLastID: Bool { if case .readLastID = self { true } else { false } }
    fileprivate var batch: BatchTask? { if case .decide(let task) = self { task } else { nil } }
    fileprivate var turn: WorkerRound.Turn? { if case .end(let turn) = self { turn } else { nil } }
    fileprivate var end: WorkerRound.TurnResult? { turn?.result }

    /// The action after this one, if this one is a poll.
    fileprivate func afterPoll(_ round: inout WorkerRound) -> WorkerRound.Action {
        if case .poll = self { round.notePoll() } else { self }
    }
}

extension WorkerRound.TurnResult {
    fileprivate var isIdle: Bool { if case .idle = self { true } else { false } }
    fileprivate var isWaiting: Bool { if case .waiting = self { true } else { false } }
    fileprivate var isUndecided: Bool { if case .undecided = self { true } else { false } }
    fileprivate var pause: Duration? { if case .gathering(let pause) = self { pause } else { nil } }
    fileprivate var isDecided: Bool { if case .decided = self { true } else { false } }
}

extension ClaimScope {
    /// The named lists; nil if the scope asks for the next lists.
    fileprivate var named: [ListIdentifier]? {
        switch self {
        case .lists(let lists), .suspects(let lists): lists
        default: nil
        }
    }

    fileprivate var areSuspects: Bool? {
        switch self {
        case .lists: false
        case .suspects: true
        default: nil
        }
    }

    fileprivate var isOldest: Bool { if case .oldest = self { true } else { false } }

    /// The list that the transaction waits for.
    fileprivate var awaited: ListIdentifier? { if case .waitingFor(let list) = self { list } else { nil } }

    /// How many of the next lists the scope asks for.
    fileprivate var lists: Int? { if case .next(_, let lists, _, _) = self { lists } else { nil } }

    fileprivate var readingAhead: Int? { if case .next(_, _, let count, _) = self { count } else { nil } }

    fileprivate var isWithPartners: Bool { if case .next(_, _, _, true) = self { true } else { false } }

    /// Whether it asks for the next lists from this one on, or behind it; nil: from the beginning.
    fileprivate func isNext(from list: String?) -> Bool {
        switch self {
        case .lists, .suspects, .oldest, .waitingFor: false
        case .next(.beginning, _, _, _): list == nil
        case .next(.at(let next), _, _, _), .next(.behind(let next), _, _, _): next.key == list
        }
    }
}
