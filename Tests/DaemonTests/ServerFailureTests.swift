import Ordering
import TestLimit
import Testing

@testable import Daemon
@testable import LibPQ
@testable import MoveQueue

@Suite("Whether the server is why lists fail", .usualTimeLimit) struct ServerFailureTests {
    private static let start = ContinuousClock.now

    private static func turn(_ result: WorkerRound.TurnResult, endsRound: Bool = false) -> WorkerRound.Turn {
        WorkerRound.Turn(
            result: result, hasEndedRound: endsRound, hasMetAnotherWorker: false, fruitlessRounds: FruitlessRounds())
    }

    /// A turn in which a list failed, and nothing was decided.
    private static func failing(_ state: String = "53100", endsRound: Bool = false) -> WorkerRound.Turn {
        let error = PostgresError(
            fields: .init(code: .server, message: "failed", sqlState: SQLState(rawValue: state)))
        var report = BatchReport()
        report.decisions.failures = [ListFailure(list: ListIdentifier("a"), error: .database(error))]
        return turn(.undecided(report), endsRound: endsRound)
    }

    private static let postponed = turn(.postponed(until: start))

    /// #expect calls no mutating method.
    private func pause(
        _ failure: inout ServerFailure, after turn: WorkerRound.Turn, seconds: Double
    ) -> Duration? { failure.note(turn, at: Self.start + .seconds(seconds)) }

    @Test("The lists count as the cause for 5 s, and then the server, at the next end of a round")
    func patience() {
        var failure = ServerFailure()
        #expect(pause(&failure, after: Self.failing(endsRound: true), seconds: 0) == nil)
        #expect(pause(&failure, after: Self.failing(endsRound: true), seconds: 4.9) == nil)
        #expect(pause(&failure, after: Self.failing(), seconds: 60) == nil, "other lists may succeed")
        #expect(failure.reasonNotReady == nil)
        #expect(pause(&failure, after: Self.failing(endsRound: true), seconds: 61) != nil)
        #expect(failure.reasonNotReady == "failed (SQLSTATE 53100)")
        #expect(pause(&failure, after: Self.failing(), seconds: 62) != nil)
    }

    @Test("The pause grows with each end of a round, from at most 0.1 s to 5 s, and not with other turns")
    func growth() throws {
        var failure = ServerFailure()
        _ = pause(&failure, after: Self.failing(), seconds: 0)
        #expect(pause(&failure, after: Self.postponed, seconds: 10) == nil, "this turn waits for its list")
        let first = try #require(pause(&failure, after: Self.failing(), seconds: 10))
        #expect((.milliseconds(50) ... .milliseconds(100)).contains(first))
        for _ in 1...100 { #expect(pause(&failure, after: Self.failing(), seconds: 10) == first) }
        for _ in 1...20 { _ = pause(&failure, after: Self.postponed, seconds: 10) }
        let last = try #require(pause(&failure, after: Self.failing(), seconds: 10))
        #expect((.milliseconds(2_500) ... .seconds(5)).contains(last))
    }

    @Test("A decision, or the end of the pending requests, shows that the server works")
    func over() {
        var report = BatchReport()
        report.decisions.applied = 1
        for result in [.decided(report), .idle, .waiting] as [WorkerRound.TurnResult] {
            var failure = ServerFailure()
            _ = pause(&failure, after: Self.failing(), seconds: 0)
            _ = pause(&failure, after: Self.postponed, seconds: 10)
            #expect(failure.reasonNotReady != nil)
            _ = pause(&failure, after: Self.turn(result), seconds: 11)
            #expect(failure.reasonNotReady == nil)
            #expect(pause(&failure, after: Self.failing(endsRound: true), seconds: 12) == nil)
        }
    }

    @Test("An error that has not come again for a minute no longer counts")
    func validity() {
        var failure = ServerFailure()
        _ = pause(&failure, after: Self.failing(), seconds: 0)
        _ = pause(&failure, after: Self.postponed, seconds: 60)
        #expect(failure.reasonNotReady != nil)
        _ = pause(&failure, after: Self.postponed, seconds: 61)
        #expect(failure.reasonNotReady == nil)
    }

    /// While a table of Brocot's is locked, the batches of all workers fail in turn, and meanwhile each finds its lists locked by the other.
    @Test("A batch that failed as a whole is a reason until lists are decided or postponed, or for a minute")
    func failedBatch() {
        let failed = BatchFailure(.database(PostgresError(fields: .init(code: .server, message: "failed"))))
        for (next, seconds, reason) in [
            (.undecided(BatchReport()), 1.0, "failed"), (.undecided(BatchReport()), 59, "failed"),
            (.undecided(BatchReport()), 61, nil), (.postponed(until: Self.start), 1, nil), (.idle, 1, nil),
            (.decided(BatchReport()), 1, nil),
        ] as [(WorkerRound.TurnResult, Double, String?)] {
            var failure = ServerFailure()
            failure.note(failed, at: Self.start)
            #expect(failure.reasonNotReady == "failed" && !failure.isServerTheCause)
            #expect(pause(&failure, after: Self.turn(next), seconds: seconds) == nil)
            #expect(failure.reasonNotReady == reason, "\(next) after \(seconds) s")
        }
    }

    @Test("Other errors of lists are never the server's", arguments: ["42501", "55P03", "57014", "XX000"])
    func otherErrors(state: String) {
        var failure = ServerFailure()
        for seconds in [0.0, 10, 20] {
            #expect(pause(&failure, after: Self.failing(state, endsRound: true), seconds: seconds) == nil)
        }
        #expect(failure.reasonNotReady == nil)
    }
}
