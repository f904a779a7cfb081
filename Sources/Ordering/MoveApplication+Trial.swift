import LibPQ

/// The result of trying the writes of each list separately.
package struct WriteTrial: Sendable {
    /// Groups of lists that can't be written, and the database's error. Items move between the lists of a group. Without an error,
    /// a trigger changed the role or the transaction.
    package internal(set) var refused: [(lists: [ListIdentifier], error: OrderingError?)] = []
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
    ///   - isSound: A statement that returns one Boolean: whether no trigger has changed the role or the transaction.
    ///   - connection: A connection in a transaction that has the locks of the lists.
    /// - Returns: The lists that can't be written, and the lists that were not tried.
    /// - Throws: ``OrderingError`` if the lists can't be read, or if another session has locked some of their rows.
    package func tryOut(
        _ moves: [Move], for duration: Duration, settings: SQL, isSound: SQL,
        on connection: isolated Connection
    ) throws(OrderingError) -> WriteTrial {
        let (_, changes) = try plan(moves, on: connection)
        try lockRows(of: changes, on: connection)
        let connected = ConnectedLists(of: moves)
        var trial = WriteTrial()
        var groups = connected.groups.map { GroupOfLists(lists: $0) }
        for (table, rows) in changes {
            let repository = OrderedTableRepository(table)
            let ofGroups = Dictionary(grouping: rows) { row in
                (row.storedList ?? row.list).flatMap { connected.numbers[ListIdentifier($0, of: table.name)] } ?? 0
            }
            for (number, rows) in ofGroups { groups[number].add(repository.writes(rows), of: repository) }
        }
        groups.removeAll { $0.writes.isEmpty }
        let deadline = ContinuousClock.now + duration
        repeat {
            let some = groups.prefix(Self.groupsAtOnce)
            let statements = some.map { $0.statements(settings: settings, isSound: isSound) }
            let outcomes = try connection.trialOutcomes(statements)
            for (group, outcome) in zip(some, outcomes) {
                switch group.verdict(on: outcome) {
                case .sound: break
                case .unsound: trial.refused.append((group.lists, nil))
                case .failed(let error): trial.refused.append((group.lists, error))
                }
            }
            groups.removeFirst(some.count)
        } while !groups.isEmpty && .now < deadline
        for group in groups { trial.untried.formUnion(group.lists) }
        return trial
    }
}

/// Lists of one table that are tried together.
private struct GroupOfLists {
    let lists: [ListIdentifier]
    private(set) var writes: [OrderedTableRepository.Write] = []
    private var repository: OrderedTableRepository?

    init(lists: [ListIdentifier]) { self.lists = lists }

    mutating func add(_ writes: [OrderedTableRepository.Write], of repository: OrderedTableRepository) {
        (self.writes, self.repository) = (writes, repository)
    }

    func statements(settings: SQL, isSound: SQL) -> [SQL] {
        [settings] + [repository?.announcement].compactMap(\.self) + writes.map(\.statement)
            + ["SET CONSTRAINTS ALL IMMEDIATE", isSound]
    }

    enum Verdict {
        case sound, unsound
        case failed(OrderingError)
    }

    func verdict(on outcome: Result<[Rows], PostgresError>) -> Verdict {
        let rows: [Rows]
        switch outcome {
        case .success(let all): rows = all
        case .failure(let error): return .failed(.database(error))
        }
        guard let repository, let last = rows.last else { return .sound }
        do throws(OrderingError) {
            for (write, rows) in zip(writes, rows.dropFirst(repository.announcement == nil ? 1 : 2)) {
                try repository.expect(write.rows, try repository.written(rows))
            }
        } catch {
            return .failed(error)
        }
        return (try? last.single().decode(0, as: Bool.self)) == true ? .sound : .unsound
    }
}

extension Connection {
    fileprivate func trialOutcomes(_ groups: [[SQL]]) throws(OrderingError) -> [Result<[Rows], PostgresError>] {
        do { return try tryOut(groups) } catch { throw .database(error) }
    }
}
