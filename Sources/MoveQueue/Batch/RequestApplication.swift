import LibPQ
import Ordering

/// Applies requests together, and collects the decisions. The transaction has the locks of their lists.
struct RequestApplication {
    private let moves: MoveApplication
    var decisions = BatchDecisions()

    init(_ moves: MoveApplication) { self.moves = moves }

    /// Applies requests, except those of lists with rows that another session has locked.
    mutating func apply(_ requests: [PendingRequest], on connection: isolated Connection) throws(QueueError) {
        let decided = try withoutLockedRows(requests) { [moves] requests throws(OrderingError) in
            let results = try moves.apply(requests.map(\.move), on: connection)
            return zip(requests, results).map { Decision(request: $0, result: $1) }
        }
        decisions.decide(decided ?? [])
    }

    /// Finds the lists that can't be written, except those with rows that another session has locked. Nothing stays written.
    ///
    /// - Parameters:
    ///   - requests: The requests to try.
    ///   - duration: The time after which no further lists are tried.
    ///   - settings: The settings that no trigger may change.
    ///   - connection: The connection.
    /// - Returns: The lists that can't be written, and the lists that were not tried.
    /// - Throws: ``QueueError`` if the rows can't be read.
    mutating func tryOut(
        _ requests: [PendingRequest], for duration: Duration, keeping settings: GuardedSettings,
        on connection: isolated Connection
    ) throws(QueueError) -> WriteTrial {
        let trial = try withoutLockedRows(requests) { [moves] requests throws(OrderingError) in
            try moves.tryOut(requests.map(\.move), for: duration, keeping: settings, on: connection)
        }
        return trial ?? WriteTrial()
    }

    /// Calls `body` until it meets no locked row. Each time, the requests of the lists with locked rows are left out.
    ///
    /// - Returns: What `body` returns; nil if no request is left.
    private mutating func withoutLockedRows<Result>(
        _ requests: [PendingRequest], _ body: ([PendingRequest]) throws(OrderingError) -> Result
    ) throws(QueueError) -> Result? {
        var requests = requests
        while !requests.isEmpty {
            do throws(OrderingError) {
                return try body(requests)
            } catch {
                guard case .rowsLocked(let lists) = error, !lists.isEmpty else { throw .ordering(error) }
                decisions.leaveLocked(lists)
                requests = decisions.admissible(requests)
            }
        }
        return nil
    }
}
