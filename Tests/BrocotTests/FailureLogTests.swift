import Logging
import Testing

@testable import Brocot

@Suite("What fails again and again") struct FailureLogTests {
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

    @Test("is kept in mind as far as it is among the latest")
    func forgotten() {
        var log = FailureLog(logger)
        for number in 0...FailureLog.mostErrors { _ = log.admit("error \(number)", at: start + .seconds(number)) }
        let counts = ["error 1", "error 0"].map { log.admit($0, at: start + .seconds(20)) }
        #expect(counts == [nil, 0])
    }
}
