/// How many requests a list had lately, on average. It decides how many lists the next batch has. Pure.
struct ListDepth: Sendable {
    /// At first many requests are expected: a batch that is too small costs less than one that is too large.
    private static let listsOfFirstBatch = 8.0

    private var requests: Double

    /// `limits` are those of a whole batch.
    init(_ limits: BatchLimits) {
        requests = Double(limits.requests) / Self.listsOfFirstBatch
    }

    /// The number of lists whose requests fill a batch.
    func lists(of batch: BatchLimits) -> Int {
        min(max(1, Int(Double(batch.requests) / expected(batch))), batch.lists)
    }

    /// Whether most lists have a single request.
    func isLow(_ batch: BatchLimits) -> Bool { expected(batch) < 2 }

    /// The number of requests that each list is expected to add to a batch: at most half of the batch's limit for one list. So a small batch, such
    /// as the first ones, has several lists with fewer requests of each. With a single list in each batch, a round would take long.
    private func expected(_ batch: BatchLimits) -> Double {
        min(requests, max(1, Double(batch.requestsPerList) / 2))
    }

    mutating func note(_ report: BatchReport) {
        guard report.decisions.count > 0 else {
            // The next batch gets more lists. So a round does not take long if many consecutive lists are locked or fail.
            requests = max(1, requests / 2)
            return
        }
        let found = Double(report.decisions.count + report.undecided.count) / Double(report.claim.locked.count)
        // If the bytes limit a batch, more lists don't make it larger, and lists with little work come sooner.
        requests = max(1, report.undecided.crowdedOut.isEmpty ? (requests + found) / 2 : found)
    }
}
