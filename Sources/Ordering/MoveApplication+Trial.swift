import LibPQ

/// The result of trying the writes of each list separately.
package struct WriteTrial: Sendable {
    /// Lists of one table that can't be written. Items move between them.
    package struct RefusedLists: Sendable {
        package let lists: [ListIdentifier]
        /// The error of their writes; nil if a trigger changed the role or the transaction.
        package let error: OrderingError?
    }

    package internal(set) var refused: [RefusedLists] = []
    /// Lists that were not tried, because the time was over.
    package internal(set) var untried: Set<ListIdentifier> = []

    package init() {}
}

extension MoveApplication {
    /// The number of groups that are tried in one exchange with the server. The time is checked after each exchange.
    private static let groupsAtOnce = 16

    /// Tries the writes of each list and undoes them, so that one refused list among hundreds is found in the time of a
    /// batch. Lists between which items move are tried together.
    ///
    /// - Parameters:
    ///   - moves: The moves to try.
    ///   - duration: The time after which no further groups are tried. The first groups are always tried.
    ///   - settings: The statement with the settings of each trial.
    ///   - areSettingsKept: A statement that returns one Boolean: whether no trigger has changed the role or the transaction.
    ///   - connection: A connection in a transaction that has the locks of the lists.
    /// - Returns: The lists that can't be written, and the lists that were not tried.
    /// - Throws: ``OrderingError`` if the lists can't be read, or if another session has locked some of their rows.
    package func tryOut(
        _ moves: [Move], for duration: Duration, settings: SQL, areSettingsKept: SQL,
        on connection: isolated Connection
    ) throws(OrderingError) -> WriteTrial {
        let (_, changes) = try decide(moves, on: connection)
        try tryLockRows(of: changes, on: connection)
        var groups = TrialGroup.groups(of: changes, ConnectedLists(of: moves))
        let deadline = ContinuousClock.now + duration
        var trial = WriteTrial()
        repeat {
            let some = groups.prefix(Self.groupsAtOnce)
            let statements = some.map { $0.statements(settings: settings, areSettingsKept: areSettingsKept) }
            let outcomes = try connection.trialOutcomes(statements)
            for (group, outcome) in zip(some, outcomes) {
                switch group.verdict(on: outcome) {
                case .writable: break
                case .settingsChanged: trial.refused.append(.init(lists: group.lists, error: nil))
                case .failed(let error): trial.refused.append(.init(lists: group.lists, error: error))
                }
            }
            groups.removeFirst(some.count)
        } while !groups.isEmpty && .now < deadline
        for group in groups { trial.untried.formUnion(group.lists) }
        return trial
    }
}

/// Lists of one table whose writes are tried together.
private struct TrialGroup {
    let lists: [ListIdentifier]
    private let writes: [OrderedTableRepository.Write]
    private let repository: OrderedTableRepository

    /// The groups of connected lists whose rows change.
    static func groups(of changes: [TableChanges], _ connected: ConnectedLists) -> [TrialGroup] {
        var groups: [Int: TrialGroup] = [:]
        for ofTable in changes {
            let repository = OrderedTableRepository(ofTable.table)
            let byGroup = Dictionary(grouping: ofTable.changes) { change in
                (change.storedList ?? change.list)
                    .flatMap { connected.numbers[ListIdentifier($0, of: ofTable.table.name)] } ?? 0
            }
            for (number, changes) in byGroup {
                groups[number] = TrialGroup(
                    lists: connected.groups[number], writes: repository.writes(changes), repository: repository)
            }
        }
        return groups.sorted { $0.key < $1.key }.map(\.value)
    }

    func statements(settings: SQL, areSettingsKept: SQL) -> [SQL] {
        [settings] + [repository.announcement].compactMap(\.self) + writes.map(\.statement)
            + ["SET CONSTRAINTS ALL IMMEDIATE", areSettingsKept]
    }

    enum Verdict {
        case writable, settingsChanged
        case failed(OrderingError)
    }

    /// Whether the writes did what they had to do. `outcome` contains the rows of ``statements(settings:areSettingsKept:)``, or the
    /// error of one of them.
    func verdict(on outcome: Result<[Rows], PostgresError>) -> Verdict {
        let rows: [Rows]
        switch outcome {
        case .success(let all): rows = all
        case .failure(let error): return .failed(.database(error))
        }
        guard let last = rows.last else { return .writable }
        do throws(OrderingError) {
            for (write, rows) in zip(writes, rows.dropFirst(repository.announcement == nil ? 1 : 2)) {
                try repository.expect(write.rows, try repository.written(rows))
            }
        } catch {
            return .failed(error)
        }
        return (try? last.single().decode(0, as: Bool.self)) == true ? .writable : .settingsChanged
    }
}

extension Connection {
    fileprivate func trialOutcomes(_ groups: [[SQL]]) throws(OrderingError) -> [Result<[Rows], PostgresError>] {
        do { return try tryOut(groups) } catch { throw .database(error) }
    }
}
