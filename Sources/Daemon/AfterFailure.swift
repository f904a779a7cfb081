import MoveQueue

/// What a worker does after a batch failed. Pure.
enum AfterFailure {
    /// Open a new connection.
    case connectAgain
    /// Go on with other lists: those that may be the cause are postponed now.
    case goOn
    /// Try a smaller batch soon.
    case tryLess
    /// Try again after a growing pause. The batch can't become smaller.
    case backOff
    /// End, because the server refuses the statements that read or write the queue, and no list is known to be the cause.
    case end

    /// - Parameters:
    ///   - failure: The failure.
    ///   - isConnectionLost: Whether the connection must be replaced.
    ///   - wasSmallest: Whether the batch can't become smaller.
    ///   - drains: Whether the daemon ends when nothing is left that it can decide.
    init(_ failure: BatchFailure, isConnectionLost: Bool, wasSmallest: Bool, drains: Bool) {
        let error = failure.error
        let isCausedByLists = !failure.lists.isEmpty && !error.isCausedByServerOrConnection
        if isConnectionLost || !isCausedByLists && error.databaseError?.isFromReadOnlyServer == true {
            self = .connectAgain
        } else if isCausedByLists {
            self = .goOn
        } else if !wasSmallest {
            self = .tryLess
        } else {
            self = drains && error.nextStep != nil ? .end : .backOff
        }
    }
}
