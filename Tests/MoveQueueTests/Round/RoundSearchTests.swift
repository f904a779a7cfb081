import Ordering
import TestLimit
import Testing

@testable import MoveQueue

@Suite("The search through a round", .usualTimeLimit) struct RoundSearchTests {
    private let asked = 8

    /// The report of a batch that found this many lists, locked them, and decided this many of their requests.
    private func report(found: Int, decided: Int = 0, last: String = "m") -> BatchReport {
        var report = BatchReport()
        (report.claim.found, report.claim.lastFound) = (found, ListIdentifier(last))
        report.claim.locked = (0..<found).map { ListIdentifier("\(last)\($0)") }
        report.decisions.applied = decided
        return report
    }

    private func waiting(found: Int) -> BatchReport {
        var report = report(found: found)
        (report.claim.waiting, report.claim.locked) = (report.claim.locked, [])
        return report
    }

    private func next(_ search: inout RoundSearch) -> RoundSearch.Target {
        search.nextBatch(BatchLimits(), leavingOut: PostponedLists()).0
    }

    @Test("A search goes on behind the last list that was found, if as many lists were found as it asked for")
    func goesOn() {
        var search = RoundSearch(BatchLimits())
        let step = search.note(report(found: asked, decided: 1), of: .init(count: asked, withPartners: false))
        #expect(step == .nextLists)
        let (_, batch) = search.nextBatch(BatchLimits(), leavingOut: PostponedLists())
        guard case .next(.behind(let list), _, _, _) = batch.scope else {
            Issue.record("the search does not go on behind a list: \(batch.scope)")
            return
        }
        #expect(list == ListIdentifier("m"))
    }

    @Test("A round without partners follows only if the batch's own limit kept lists from it, and not other sessions")
    func notEntangled() {
        for others: [ListIdentifier] in [[], ["other"]] {
            var search = RoundSearch(BatchLimits())
            var report = report(found: 1, decided: 1)
            (report.claim.beyondLimit, report.claim.lockedByOthers) = (200, others)
            (report.undecided.hasChangesOfList, report.undecided.count) = (true, 500)
            _ = search.note(report, of: .init(count: 10, withPartners: true))
            let isOldest = if case .oldest = next(&search) { true } else { false }
            #expect(isOldest == others.isEmpty)
        }
    }

    @Test("Partners are still searched after a batch that could lock no list") func nothingLocked() {
        var search = RoundSearch(BatchLimits())
        var changes = report(found: asked, decided: 1)
        changes.undecided.hasChangesOfList = true
        _ = search.note(changes, of: .init(count: asked, withPartners: true))
        var nothing = report(found: asked)
        (nothing.claim.lockedByOthers, nothing.claim.locked) = (nothing.claim.locked, [])
        _ = search.note(nothing, of: .init(count: asked, withPartners: true))
        guard case .next(let target) = next(&search), target.withPartners else {
            Issue.record("the search does not look for partners")
            return
        }
    }

    @Test("A search leaves out postponed lists, and reads past their requests")
    func leavesOut() {
        var search = RoundSearch(BatchLimits())
        var postponed = PostponedLists()
        postponed.noteUnavailable([ListIdentifier("a"), ListIdentifier("b")], at: .now)
        let (_, batch) = search.nextBatch(BatchLimits(), leavingOut: postponed)
        #expect(Set(batch.postponed.lists) == [ListIdentifier("a"), ListIdentifier("b")])
        guard case .next(.beginning, let lists, let readingAhead, true) = batch.scope else {
            Issue.record("the search does not begin with the first lists and their partners: \(batch.scope)")
            return
        }
        #expect((lists, readingAhead) == (asked, 3))
    }

    @Test(
        "A batch of the oldest requests leaves out the lists of which earlier ones decided nothing, until no other list is left"
    )
    func oldestLeftOut() {
        var search = RoundSearch(BatchLimits())
        func leftOut() -> [ListIdentifier] {
            _ = next(&search)
            var entangled = report(found: 1, decided: 1)
            entangled.claim.beyondLimit = 200
            (entangled.undecided.hasChangesOfList, entangled.undecided.count) = (true, 500)
            _ = search.note(entangled, of: .init(count: 10, withPartners: true))
            guard case .oldest(_, let lists) = search.nextBatch(BatchLimits(), leavingOut: PostponedLists()).1.scope
            else { return [] }
            return lists
        }
        let now = ContinuousClock.now
        #expect(leftOut() == [])
        search.noteOldest(report(found: 1, last: "a"), at: now)
        #expect(leftOut() == ["a0"])
        search.noteOldest(report(found: 1, decided: 1, last: "b"), at: now)
        #expect(leftOut() == ["a0"])
        var mostlyInVain = report(found: 3, decided: 1, last: "b")
        (mostlyInVain.claim.locked, mostlyInVain.undecided.untouched) = (["b0", "c", "d"], ["c", "d"])
        search.noteOldest(mostlyInVain, at: now)
        #expect(Set(leftOut()) == ["a0", "c", "d"])
        search.noteOldest(BatchReport(), at: now)
        #expect(leftOut() == [])
        search.noteOldest(report(found: 1, last: "a"), at: now)
        search.noteOldest(report(found: 1, decided: 1, last: "b"), at: now + .seconds(31))
        #expect(leftOut() == [], "the wait may have ended meanwhile")
    }

    @Test("The end of a round says how many requests its batches decided, and 0 if one of them left requests")
    func decidedInRound() {
        for left in [0, 1] {
            var search = RoundSearch(BatchLimits())
            var first = report(found: asked, decided: 10)
            first.undecided.count = left
            #expect(search.note(first, of: .init(count: asked, withPartners: true)) == .nextLists)
            let end = search.note(report(found: 1, decided: 6), of: .init(count: asked, withPartners: true))
            #expect(end == .nextRound(decided: left == 0 ? 16 : 0, isWhole: true, foundWaiting: false))
            #expect(
                search.note(report(found: 1, decided: 5), of: .init(count: asked, withPartners: true))
                    == .nextRound(decided: 5, isWhole: true, foundWaiting: false))
        }
    }

    @Test("There is nothing to do after a whole round that found nothing, or only requests that wait for a person")
    func nothingToDo() {
        var search = RoundSearch(BatchLimits())
        #expect(
            search.note(report(found: 0), of: .init(count: asked, withPartners: true))
                == .nothingToDo(foundWaiting: false))
        #expect(search.note(waiting(found: asked), of: .init(count: asked, withPartners: true)) == .nextLists)
        #expect(
            search.note(report(found: 0), of: .init(count: asked, withPartners: true))
                == .nothingToDo(foundWaiting: true))
    }

    @Test("A round that found work, or began in the middle, is followed by another one")
    func notWholeOrNotEmpty() {
        var search = RoundSearch(BatchLimits())
        #expect(search.note(report(found: asked), of: .init(count: asked, withPartners: true)) == .nextLists)
        #expect(
            search.note(report(found: 0), of: .init(count: asked, withPartners: true))
                == .nextRound(decided: 0, isWhole: true, foundWaiting: false))
        search.go(to: ListIdentifier("m"))
        #expect(
            search.note(report(found: 0), of: .init(count: asked, withPartners: true))
                == .nextRound(decided: 0, isWhole: false, foundWaiting: false))
    }

    @Test("Lists with changes of list are searched again with their partners, and so are the first lists after a pause")
    func partners() {
        var search = RoundSearch(BatchLimits())
        #expect(search.note(report(found: asked), of: .init(count: asked, withPartners: true)) == .nextLists)
        guard case .next(let second) = next(&search), !second.withPartners else {
            Issue.record("partners are searched although no change of list was seen")
            return
        }
        var changes = report(found: asked)
        changes.undecided.hasChangesOfList = true
        #expect(search.note(changes, of: .init(count: asked, withPartners: false)) == .sameLists)
        guard case .next(let again) = next(&search), again.withPartners else {
            Issue.record("partners are not searched")
            return
        }
        search = RoundSearch(BatchLimits())
        #expect(search.note(report(found: asked), of: .init(count: asked, withPartners: true)) == .nextLists)
        _ = search.note(report(found: 0), of: .init(count: asked, withPartners: false))
        _ = search.note(report(found: 0), of: .init(count: asked, withPartners: false))
        guard case .next(let again) = next(&search), again.withPartners else {
            Issue.record("partners are not searched after a pause")
            return
        }
    }
}
