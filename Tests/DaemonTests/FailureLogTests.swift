import TestLimit
import Testing

@testable import Daemon

@Suite("Log of repeated failures", .usualTimeLimit) struct FailureLogTests {
    private let start = ContinuousClock.now

    @Test("A repeated failure is logged once in ten minutes, with the number of suppressed lines")
    func repeated() {
        var log = FailureLog(.silent)
        let counts = (0..<1_000).compactMap { log.admit("refused", at: start + .seconds($0 * 5)) }
        #expect(counts == [0] + Array(repeating: 119, count: 8))
    }

    @Test("A different error is logged at once, and a difference only in details is not")
    func different() {
        var log = FailureLog(.silent)
        let errors = ["deadlock\nDetail: process 1", "deadlock\nDetail: process 2", "refused"]
        let counts = errors.map { log.admit($0, at: start) }
        #expect(counts == [0, nil, 0])
    }

    @Test("A failure after a recovery is logged again, and the recovery has its duration and number of failures")
    func recovered() {
        var log = FailureLog(.silent)
        for second in 0..<10 { _ = log.admit("refused", at: start + .seconds(second)) }
        let end = log.end(at: start + .seconds(12))
        #expect(end?.duration == .seconds(12))
        #expect(end?.failures == 10)
        #expect(log.admit("refused", at: start + .seconds(15)) == 9)
        #expect(log.admit("refused", at: start + .seconds(16)) == nil)
    }

    @Test("A recovery is reported once, and only after a failure")
    func works() {
        var log = FailureLog(.silent)
        #expect(log.end(at: start) == nil)
        _ = log.admit("refused", at: start)
        #expect(log.end(at: start) != nil)
        #expect(log.end(at: start) == nil)
    }

    @Test("A failure that comes and goes is logged at most three times in ten minutes")
    func comingAndGoing() {
        var log = FailureLog(.silent)
        var failures: [Int] = []
        var ends: [Int] = []
        for second in 0..<1_800 {
            let now = start + .seconds(second)
            if log.admit("refused", at: now) != nil { failures.append(second) }
            if log.end(at: now) != nil { ends.append(second) }
        }
        #expect(failures == [0, 1, 2, 600, 601, 602, 1_200, 1_201, 1_202])
        #expect(ends == failures)
    }

    @Test("A lasting failure is logged once in ten minutes, also if it came and went before")
    func lastingAfterAll() {
        var log = FailureLog(.silent)
        for second in 0..<3 {
            _ = log.admit("refused", at: start + .seconds(second))
            _ = log.end(at: start + .seconds(second))
        }
        let counts = (3..<1_300).map { log.admit("refused", at: start + .seconds($0)) }
        let logged = counts.indices.filter { counts[$0] != nil }.map { $0 + 3 }
        #expect(logged == [602, 1_202])
    }

    @Test("Failures that are always different are logged at most 48 times in ten minutes")
    func neverTheSame() {
        var log = FailureLog(.silent)
        let lines = (0..<1_800).filter { log.admit("list \($0)", at: start + .seconds($0)) != nil }
        let first = Array(0..<48)
        #expect(lines == first + first.map { 600 + $0 } + first.map { 1_200 + $0 })
    }

    @Test("Only the latest errors are remembered")
    func forgotten() {
        var log = FailureLog(.silent)
        for number in 0...FailureLog.mostErrors { _ = log.admit("error \(number)", at: start + .seconds(number)) }
        let counts = ["error 1", "error 0"].map { log.admit($0, at: start + .seconds(20)) }
        #expect(counts == [nil, 0])
    }
}
