import LibPQ

extension MoveApplication {
    /// The number of groups that are tried in one exchange with the server. The time is checked after each exchange, which takes at most
    /// as many time-outs of a trial as there are groups (docs/decisions/time-outs.md).
    private static let groupsPerExchange = 16

    /// Tries the writes of each list and undoes them, so that one refused list among hundreds is found in the time of a
    /// batch. Lists between which items move are tried together.
    ///
    /// - Parameters:
    ///   - moves: The moves to try.
    ///   - duration: The time after which no further groups are tried. The first groups are always tried.
    ///   - settings: The settings that no trigger may change.
    ///   - connection: A connection in a transaction that has the locks of the lists.
    /// - Returns: The lists that can't be written, and the lists that were not tried.
    /// - Throws: ``OrderingError`` if the lists can't be read, or if another session has locked some of their rows.
    package func tryOut(
        _ moves: [Move], for duration: Duration, keeping settings: GuardedSettings, on connection: isolated Connection
    ) throws(OrderingError) -> WriteTrial {
        let (_, changes) = try decide(moves, on: connection)
        try tryLockRows(of: changes, on: connection)
        var groups = TrialGroup.groups(of: changes, ConnectedLists(of: moves))
        let deadline = ContinuousClock.now + duration
        var trial = WriteTrial()
        repeat {
            let next = groups.prefix(Self.groupsPerExchange)
            let outcomes = try wrappingErrors { () throws(PostgresError) in
                try connection.tryOut(next.map { $0.trial(keeping: settings) })
            }
            for (group, outcome) in zip(next, outcomes) {
                switch group.verdict(on: outcome) {
                case .writable: break
                case .settingsChanged: trial.refused.append(.init(lists: group.lists, error: nil))
                case .failed(let error): trial.refused.append(.init(lists: group.lists, error: error))
                }
            }
            groups.removeFirst(next.count)
        } while !groups.isEmpty && .now < deadline
        for group in groups { trial.untried.formUnion(group.lists) }
        return trial
    }
}
