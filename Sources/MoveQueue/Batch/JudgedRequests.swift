import Ordering

/// The requests of a batch, by what came of trying the writes of their lists. Pure.
struct JudgedRequests {
    /// Requests whose lists can be written, or needn't be.
    private(set) var sound: [PendingRequest] = []
    /// Requests of lists that can't be written, with all lists that items move between, and what the database says. Without
    /// an error, a trigger left the role or the transaction changed.
    private(set) var refused: [(requests: [PendingRequest], lists: [ListIdentifier], error: OrderingError?)] = []
    /// Requests of lists for which there was no time.
    private(set) var untried: [PendingRequest] = []

    /// `requests` are in the order of their ids, as those of each group are afterwards.
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
