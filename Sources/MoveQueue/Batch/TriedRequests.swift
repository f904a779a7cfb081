import Ordering

/// The requests of a batch, grouped by the result of trying the writes of their lists. Pure.
struct TriedRequests {
    /// Requests of lists that can't be written. Items move between these lists.
    struct RefusedRequests {
        let requests: [PendingRequest]
        let lists: [ListIdentifier]
        let error: QueueError
    }

    /// Requests whose lists can be written, or need not be written.
    private(set) var writable: [PendingRequest] = []
    private(set) var refused: [RefusedRequests] = []
    /// Requests of lists that were not tried because there was no time.
    private(set) var untried: [PendingRequest] = []

    /// `requests` are in the order of their ids. The requests of each group keep this order.
    init(_ requests: [PendingRequest], _ trial: WriteTrial) {
        var groupNumbers: [ListIdentifier: Int] = [:]
        for (number, group) in trial.refused.enumerated() { for list in group.lists { groupNumbers[list] = number } }
        var requestsOfGroups: [[PendingRequest]] = trial.refused.map { _ in [] }
        for request in requests {
            if let number = groupNumbers[request.move.list] {
                requestsOfGroups[number].append(request)
            } else if trial.untried.contains(request.move.list) {
                untried.append(request)
            } else {
                writable.append(request)
            }
        }
        for (requests, group) in zip(requestsOfGroups, trial.refused) where !requests.isEmpty {
            let error = group.error.map(QueueError.ordering) ?? .settingsChanged
            refused.append(RefusedRequests(requests: requests, lists: group.lists, error: error))
        }
    }
}
