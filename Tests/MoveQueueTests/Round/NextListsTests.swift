import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("What a worker does after a batch of the next lists", .usualTimeLimit) struct NextListsTests {
    private let now = ContinuousClock.now

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

    @Test(
        "A worker reports that another worker is at the same lists if other sessions have locked most of them",
        arguments: [1, 2, 3])
    func meetsAnotherWorker(others: Int) {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: false, at: now)
        var report = decided(lists("a", "b"))
        report.claim.lockedByOthers = (1...others).map { ListIdentifier("other \($0)") }
        #expect(round.note(report, at: now).turn?.hasMetAnotherWorker == (others > 2))
    }

    @Test("A batch that finds fewer lists than it asked for ends the round") func endsRound() throws {
        var round = WorkerRound(QueueConfiguration())
        let asked = try #require(round.beginTurn(isPollDue: false, at: now).batch?.scope.lists)
        var report = decided(lists("a"))
        report.claim.found = asked
        #expect(round.note(report, at: now).turn?.hasEndedRound == false)
        _ = round.beginTurn(isPollDue: false, at: now)
        #expect(round.note(decided(lists("b")), at: now).turn?.hasEndedRound == true)
    }

    @Test("A worker's turn reads the same lists again if a transaction ended that was passed over")
    func lostProgress() throws {
        var round = WorkerRound(QueueConfiguration())
        _ = round.beginTurn(isPollDue: false, at: now)
        var report = BatchReport()
        report.isOutdated = true
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
        #expect(next.postponed.lists == lists("a"))
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

    @Test("Rounds in vain are those that decide nothing beside waiting lists, while no list is postponed for long")
    func roundsInVain() {
        var round = WorkerRound(QueueConfiguration())
        /// Ends a turn with a batch that finds the last list of the round, and returns how many rounds were in vain until then.
        func rounds(after report: BatchReport) -> Int? {
            _ = round.beginTurn(isPollDue: false, at: now)
            return round.note(report, at: now).turn?.fruitlessRounds.inVain
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

    @Test("Rounds without a decision are counted, whoever has the lists, until a request is decided or a list fails")
    func roundsWithoutDecision() {
        var round = WorkerRound(QueueConfiguration())
        func rounds(after report: BatchReport) -> Int? {
            _ = round.beginTurn(isPollDue: false, at: now)
            return round.note(report, at: now).turn?.fruitlessRounds.withoutDecision
        }
        var vain = unavailable(lists("locked"))
        (vain.claim.locked, vain.undecided.count) = (lists("a"), 1)
        #expect((1...3).map { _ in rounds(after: vain) } == [1, 2, 3])
        #expect(rounds(after: decided(lists("b"))) == 1, "the end of the round of this decision")
        #expect(rounds(after: vain) == 2)
        _ = round.beginTurn(isPollDue: false, at: now)
        round.noteFailure(of: lists("x"), at: now)
        #expect(rounds(after: vain) == 2)
    }

    @Test("If more lists fail than can be postponed, rounds that decide nothing are in vain")
    func moreFailingListsThanCanBePostponed() {
        var postponed = PostponedLists()
        for number in 0..<PostponedLists.capacity {
            postponed.noteFailure(of: [ListIdentifier("list \(number)")], at: now)
        }
        func roundsInVain(_ postponed: PostponedLists) -> Int? {
            var round = WorkerRound(QueueConfiguration(), postponed: postponed)
            var report = BatchReport()
            (report.claim.found, report.claim.locked, report.undecided.count) = (1, lists("another"), 1)
            _ = round.beginTurn(isPollDue: false, at: now)
            return round.note(report, at: now).turn?.fruitlessRounds.inVain
        }
        #expect(roundsInVain(postponed) == 1)
        postponed.forget(lists("list 1"))
        #expect(roundsInVain(postponed) == 0)
    }
}
