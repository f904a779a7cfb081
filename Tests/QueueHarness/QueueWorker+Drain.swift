import LibPQ
import MoveQueue
import TestPostgres

/// Does what a daemon does with the results of its workers, for tests without a daemon.
extension QueueWorker {
    private static let longestDrain = Duration.seconds(300)
    private static let mostAttempts = 20

    /// Decides all requests that don't wait for a person, as `brocot daemon --drain` does.
    ///
    /// - Throws: ``NotInTime`` after 300 s.
    package mutating func drain(on connection: Connection) async throws {
        let deadline = ContinuousClock.now + Self.longestDrain
        var failures: [ListFailure] = []
        while true {
            guard .now < deadline else {
                throw NotInTime(
                    description: """
                        waited \(Self.longestDrain) until a worker finds nothing pending; failed last: \(failures)
                        """)
            }
            let result = try await runTurnDespiteTimeout(on: connection)
            if !result.failures.isEmpty { failures = result.failures }
            switch result {
            case .idle, .waiting: return
            case .postponed(let due): try await Task.sleep(until: due, clock: .continuous)
            case .gathering(let pause): try await Task.sleep(for: pause)
            case .undecided: try await Task.sleep(for: .milliseconds(Int.random(in: 1...5)))
            case .decided: break
            }
        }
    }

    /// Decides the next batch. After a statement time-out it tries again, as a daemon does: the machine was slow.
    ///
    /// - Throws: ``BatchFailure``, for a time-out only if most attempts had one.
    package mutating func runTurnDespiteTimeout(
        _ share: BatchShare = BatchShare(), on connection: Connection
    ) async throws(BatchFailure) -> WorkerRound.TurnResult {
        for _ in 1..<Self.mostAttempts {
            do throws(BatchFailure) {
                return try await runTurn(share, on: connection).result
            } catch {
                guard error.error.databaseError?.sqlState == .queryCanceled else { throw error }
            }
        }
        return try await runTurn(share, on: connection).result
    }
}
