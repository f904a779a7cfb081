import Logging
import Testing

@testable import Daemon

@Suite("What fails again and again", .timeLimit(.minutes(30))) struct FailureLogTests {
    private let start = ContinuousClock.now
    private let logger = Logger(label: "FailureLogTests") { _ in SwiftLogNoOpLogHandler() }

    @Test("is logged once in ten minutes, with how often it was kept back")
    func repeated() {
        var log = FailureLog(logger)
        let counts = (0..<1_000).compactMap { log.admit("refused", at: start + .seconds($0 * 5)) }
        #expect(counts == [0] + Array(repeating: 119, count: 8))
    }

    @Test("is logged at once where it is another error, whatever its details")
    func different() {
        var log = FailureLog(logger)
        let errors = ["deadlock\nDetail: process 1", "deadlock\nDetail: process 2", "refused"]
        let counts = errors.map { log.admit($0, at: start) }
        #expect(counts == [0, nil, 0])
    }

    @Test("is logged again where it worked in between, and so is that it works, after how long and how many failures")
    func recovered() {
        var log = FailureLog(logger)
        for second in 0..<10 { _ = log.admit("refused", at: start + .seconds(second)) }
        let end = log.end(at: start + .seconds(12))
        #expect(end?.duration == .seconds(12))
        #expect(end?.failures == 10)
        #expect(log.admit("refused", at: start + .seconds(15)) == 9)
        #expect(log.admit("refused", at: start + .seconds(16)) == nil)
    }

    @Test("is told to work once, and only where it failed")
    func works() {
        var log = FailureLog(logger)
        #expect(log.end(at: start) == nil)
        _ = log.admit("refused", at: start)
        #expect(log.end(at: start) != nil)
        #expect(log.end(at: start) == nil)
    }

    @Test("fills no log where it works in between again and again: three lines of each in ten minutes")
    func comingAndGoing() {
        var log = FailureLog(logger)
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

    @Test("is logged once in ten minutes where it lasts, however often it worked before")
    func lastingAfterAll() {
        var log = FailureLog(logger)
        for second in 0..<3 {
            _ = log.admit("refused", at: start + .seconds(second))
            _ = log.end(at: start + .seconds(second))
        }
        let counts = (3..<1_300).map { log.admit("refused", at: start + .seconds($0)) }
        let logged = counts.indices.filter { counts[$0] != nil }.map { $0 + 3 }
        #expect(logged == [602, 1_202])
    }

    @Test("fills no log where each time it is another one, such as of another list: so many lines in ten minutes")
    func neverTheSame() {
        var log = FailureLog(logger)
        let lines = (0..<1_800).filter { log.admit("list \($0)", at: start + .seconds($0)) != nil }
        let first = Array(0..<48)
        #expect(lines == first + first.map { 600 + $0 } + first.map { 1_200 + $0 })
    }

    @Test("is kept in mind as far as it is among the latest")
    func forgotten() {
        var log = FailureLog(logger)
        for number in 0...FailureLog.mostErrors { _ = log.admit("error \(number)", at: start + .seconds(number)) }
        let counts = ["error 1", "error 0"].map { log.admit($0, at: start + .seconds(20)) }
        #expect(counts == [nil, 0])
    }
}
