import LibPQ
import Ordering

/// Goes round the lists with pending requests, a batch at a time.
///
/// Workers need not know of each other: each begins at a random list and goes on from there, so that they meet rarely,
/// and where they meet, the locks of the lists keep them apart.
package struct QueueWorker: Sendable {
    /// What came of looking for work.
    package enum Progress: Sendable {
        /// Nothing is pending.
        case idle
        /// Something is pending, and somebody else has the locks.
        case contended
        case decided(BatchReport)
    }

    private let configuration: QueueConfiguration
    private let transaction: QueueTransaction
    private static let beginning = ListIdentifier(orderedTable: "", list: "")
    private var place = beginning
    /// How many requests a list had lately, on average. At first many are expected: a batch that is too small costs
    /// less than one that is too large.
    private var depth: Double

    package init(_ configuration: QueueConfiguration = QueueConfiguration()) {
        self.configuration = configuration
        depth = Double(configuration.requestsPerBatch) / 8
        transaction = QueueTransaction(configuration)
    }

    /// Goes to a list that some random request is for.
    package mutating func wander(on connection: Connection) async throws(QueueError) {
        do throws(PostgresError) {
            let fraction = Double.random(in: 0...1)
            let rows = try await connection.run { connection throws(PostgresError) in
                try connection.query(QueueStatements.randomList(fraction))
            }
            guard let row = rows.first else { return }
            place = ListIdentifier(
                orderedTable: try row.decode(0, as: String.self), list: try row.decode(1, as: String.self))
        } catch {
            throw .database(error)
        }
    }

    /// Decides the next batch.
    package mutating func runBatch(on connection: Connection) async throws(QueueError) -> Progress {
        let lists = min(max(1, Int(Double(configuration.requestsPerBatch) / depth)), configuration.listsPerBatch)
        let isWholeRound = place == Self.beginning
        let scope = QueueTransaction.Scope.beyond(place, lists: lists)
        let report = try await connection.run { [transaction] connection throws(QueueError) in
            try transaction.run(scope, on: connection)
        }
        place = report.found < lists ? Self.beginning : report.lastFound ?? Self.beginning
        if report.decided > 0 {
            depth = max(1, (depth + Double(report.decided + report.heldBack) / Double(report.locked)) / 2)
            return .decided(report)
        }
        if report.found > 0 { return .contended }
        return isWholeRound ? .idle : try await runBatch(on: connection)
    }
}

extension QueueWorker {
    /// Whether any request is pending, in whatever list.
    package static func isAnythingPending(on connection: Connection) async throws(PostgresError) -> Bool {
        let rows = try await connection.run { connection throws(PostgresError) in
            try connection.query(QueueStatements.isAnythingPending)
        }
        return try rows[0].decode(0, as: Bool.self)
    }
}
