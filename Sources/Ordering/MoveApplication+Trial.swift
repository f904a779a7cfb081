import LibPQ

/// Which lists the database lets write, each for itself.
package struct WriteTrial: Sendable {
    /// Lists that can't be written, or only together with one that can't, and what the database says of them. Without an
    /// error, a trigger did not leave everything as it was.
    package internal(set) var refused: [(lists: [ListIdentifier], error: OrderingError?)] = []
    /// Lists for which there was no time.
    package internal(set) var untried: Set<ListIdentifier> = []

    package init() {}
}

extension MoveApplication {
    /// So many groups of lists are tried in one go. Between them, the clock is looked at.
    private static let groupsAtOnce = 16

    /// Tries the writes of each list and undoes them, so that one refused list among hundreds is found in the time of a
    /// batch. Lists between which items move are tried together.
    ///
    /// - Parameters:
    ///   - moves: what is to be applied.
    ///   - duration: after so long, no further lists are tried. Some are in any case.
    ///   - settings: for the time of each trial.
    ///   - isSound: a statement that tells, in one column of one row, whether a trigger left everything as it was.
    ///   - connection: in a transaction that has the locks of the lists.
    /// - Returns: the lists that can't be written, and those for which there was no time.
    /// - Throws: ``OrderingError``, where the lists can't even be read, or rows of theirs are locked by others.
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

/// Lists that are tried together, of one table.
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
