import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("Postponed lists of a worker", .usualTimeLimit) struct PostponedListsTests {
    private let start = ContinuousClock.now

    private func lists(_ count: Int) -> [ListIdentifier] { (0..<count).map { ListIdentifier("\($0)") } }

    @Test("Lists that failed together are retried in halves, until the faulty list fails alone")
    func halves() {
        var postponed = PostponedLists()
        let bad = ListIdentifier("5")
        postponed.noteFailure(of: lists(16), at: start)
        var batches = 0
        while batches < 100 {
            let group = postponed.next(at: start)
            guard !group.isEmpty else { break }
            batches += 1
            if group.contains(bad) { postponed.noteFailure(of: group, at: start) } else { postponed.forget(group) }
        }
        #expect(Array(postponed.lists) == [bad])
        #expect(batches <= 2 * 4, "16 lists are halved 4 times")
        #expect(postponed.next(at: start + .milliseconds(100)) == [bad])
    }

    @Test("The pause of a postponed list doubles, up to 15 to 30 s after failures and 2.5 to 5 s after locks")
    func growingPauses() throws {
        var (failing, unavailable) = (PostponedLists(), PostponedLists())
        for _ in 1...30 {
            failing.noteFailure(of: lists(1), at: start)
            unavailable.noteUnavailable(lists(1), at: start)
        }
        #expect((.seconds(15) ... .seconds(30)).contains(try #require(failing.nextDue) - start))
        #expect((.milliseconds(2_500) ... .seconds(5)).contains(try #require(unavailable.nextDue) - start))
        failing.forget(lists(1))
        failing.noteFailure(of: lists(1), at: start)
        #expect((.milliseconds(50) ... .milliseconds(100)).contains(try #require(failing.nextDue) - start))
    }

    @Test("A list that failed a thousand times has batches of the usual size again after a few successes")
    func recovers() {
        var postponed = PostponedLists()
        let list = lists(1)[0]
        for _ in 1...1_000 { postponed.noteFailure(of: [list], at: start) }
        for _ in 1...12 { postponed.noteProgress(of: list, at: start) }
        #expect(postponed.halvings(of: list) == 0)
    }

    @Test("Lists that other sessions have locked are retried together, without failing lists")
    func groups() {
        var postponed = PostponedLists()
        postponed.noteUnavailable(lists(1_000), at: start)
        postponed.noteFailure(of: [ListIdentifier("bad")], at: start)
        let group = postponed.next(at: start + .milliseconds(20))
        #expect(group.count == PostponedLists.largestGroup)
        #expect(!group.contains(ListIdentifier("bad")))
        #expect(postponed.next(at: start).isEmpty)
    }

    @Test("Lists with fewer failures are retried before lists that fail again and again")
    func leastFailuresFirst() {
        var postponed = PostponedLists()
        for list in lists(1_000) { for _ in 1...3 { postponed.noteFailure(of: [list], at: start) } }
        let suspect = ListIdentifier("suspect")
        postponed.noteSuspicion(of: [suspect], at: start + .seconds(50))
        #expect(postponed.next(at: start + .seconds(60)) == [suspect])
        postponed.forget([suspect])
        #expect(postponed.next(at: start + .seconds(60)).count == PostponedLists.largestFailingGroup)
    }

    @Test("A list that failed often is retried in turn with unavailable lists, however many of these there are")
    func failingInTurnWithUnavailable() {
        var postponed = PostponedLists()
        let failing = ListIdentifier("failing")
        for _ in 1...5 { postponed.noteFailure(of: [failing], at: start) }
        var tried: [[ListIdentifier]] = []
        for turn in 1...4 {
            // In each turn, other sessions have another list.
            let now = start + .seconds(60 + turn)
            postponed.noteUnavailable([ListIdentifier("\(turn)")], at: now - .seconds(1))
            tried.append(postponed.next(at: now))
        }
        #expect(tried.count { $0 == [failing] } == 2)
    }

    @Test("After progress, a list that failed before is retried soon if another session has it")
    func unavailableAfterProgress() throws {
        var postponed = PostponedLists()
        let list = ListIdentifier("slow")
        for _ in 1...8 { postponed.noteFailure(of: [list], at: start) }
        postponed.noteProgress(of: list, at: start)
        postponed.noteUnavailable([list], at: start)
        #expect(try #require(postponed.nextDue) - start <= .milliseconds(10))
        #expect(postponed.halvings(of: list) == 7)
    }

    @Test("All lists that other sessions have are retried together, also those that are not due yet")
    func unavailableTogether() {
        var postponed = PostponedLists()
        let names = lists(10)
        for _ in 1...6 { postponed.noteUnavailable(names[..<5], at: start) }
        postponed.noteUnavailable(names[5...], at: start)
        #expect(Set(postponed.next(at: start + .milliseconds(20))) == Set(names))
        #expect(names.allSatisfy { postponed.halvings(of: $0) == 0 }, "their batch is as large as usual")
    }

    @Test("Lists that failed together at a high cost are retried one by one") func costlyFailure() {
        var postponed = PostponedLists()
        postponed.noteFailure(of: lists(16), isCostly: true, at: start)
        #expect(postponed.next(at: start).count == 1)
    }

    @Test("Of more unavailable lists than one batch can have, those that are due first are retried first")
    func soonest() {
        var postponed = PostponedLists()
        let names = lists(2 * PostponedLists.largestGroup)
        let soon = names[PostponedLists.largestGroup...]
        for _ in 1...6 { postponed.noteUnavailable(names, at: start) }
        postponed.forget(soon)
        postponed.noteUnavailable(soon, at: start)
        #expect(Set(postponed.next(at: start + .milliseconds(20))) == Set(soon))
    }

    @Test("Lists that are found unavailable together are retried soon if one of them was available before")
    func unavailableTogetherForTheFirstTime() throws {
        var postponed = PostponedLists()
        let names = lists(2)
        for _ in 1...6 { postponed.noteUnavailable([names[0]], at: start) }
        postponed.noteUnavailable(names, at: start)
        #expect(Set(postponed.next(at: start + .milliseconds(10))) == Set(names))
    }

    @Test("A list is starving after 8 attempts in vain, unless batches with it failed too")
    func starving() {
        var postponed = PostponedLists()
        let names = lists(2)
        postponed.noteFailure(of: [names[1]], at: start)
        for _ in 1...7 { postponed.noteUnavailable(names, at: start) }
        #expect(postponed.starving(at: start + .seconds(10)) == nil)
        postponed.noteUnavailable(names, at: start)
        #expect(postponed.starving(at: start) == nil, "it is not due")
        #expect(postponed.starving(at: start + .seconds(10)) == names[0])
        postponed.forget([names[0]])
        #expect(postponed.starving(at: start + .seconds(10)) == nil, "a smaller batch may help more than a wait")
    }

    @Test("A worker postpones at most 10,000 lists") func bound() {
        var postponed = PostponedLists()
        postponed.noteUnavailable(lists(20_000), at: start)
        #expect(postponed.lists.count == 10_000)
        postponed.forget(lists(20_000))
        #expect(postponed.isEmpty && postponed.nextDue == nil && postponed.next(at: start + .seconds(60)).isEmpty)
    }
}
