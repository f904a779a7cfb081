import Ordering

/// The requests of a batch, grouped by the result of trying the writes of their lists. Pure.
struct JudgedRequests {
    /// Requests whose lists can be written, or need not be written.
    private(set) var sound: [PendingRequest] = []
    /// Requests of lists that can't be written, with all lists between which items move, and the database's error. Without an
    /// error, a trigger changed the role or the transaction.
    private(set) var refused: [(requests: [PendingRequest], lists: [ListIdentifier], error: OrderingError?)] = []
    /// Requests of lists that were not tried because there was no time.
    private(set) var untried: [PendingRequest] = []

    /// `requests` are in the order of their ids. The requests of each group keep this order.
    init(_ requests: [PendingRequest], _ trial: WriteTrial) {
        var numbers: [ListIdentifier: Int] = [:]
        for (number, group) in trial.refused.enumerated() { for list in group.lists { numbers[list] = number } }
        var ofGroups: [[PendingRequest]] = trial.refused.map { _ in [] }
        for request in requests {
            if let number = numbers[request.move.list] {
                ofGroups[number].append(request)
            } else if trial.untried.contains(request.move.list) {
                untried.append(request)
            } else {
                sound.append(request)
            }
        }
        for (requests, group) in zip(ofGroups, trial.refused) where !requests.isEmpty {
            refused.append((requests, group.lists, group.error))
        }
    }
}
