import LibPQ

/// Lists of one table whose writes are tried together.
struct TrialGroup {
    let lists: [ListIdentifier]
    private let writes: [OrderedTableRepository.Write]
    private let repository: OrderedTableRepository

    /// The groups of connected lists whose rows change.
    static func groups(of changes: [TableChanges], _ connected: ConnectedLists) -> [TrialGroup] {
        var groups: [Int: TrialGroup] = [:]
        for tableChanges in changes {
            let repository = OrderedTableRepository(tableChanges.table)
            let byGroup = Dictionary(grouping: tableChanges.changes) { change in
                (change.storedList ?? change.list)
                    .flatMap { connected.groupIndices[ListIdentifier($0, of: tableChanges.table.name)] } ?? 0
            }
            for (number, changes) in byGroup {
                groups[number] = TrialGroup(
                    lists: connected.groups[number], writes: repository.writes(changes), repository: repository)
            }
        }
        return groups.sorted { $0.key < $1.key }.map(\.value)
    }

    /// The short time-outs of a trial: if a trigger waits for a lock or stands still, all lists wait for it.
    private static let timeouts: SQL = """
        SELECT pg_catalog.set_config('lock_timeout', '20ms', true), pg_catalog.set_config('statement_timeout', '250ms', true)
        """

    /// The statements of a trial. The last one returns whether the settings are kept.
    func trial(keeping settings: GuardedSettings) -> Trial {
        Trial(
            [Self.timeouts] + [repository.announcement].compactMap(\.self) + writes.map(\.statement)
                + ["SET CONSTRAINTS ALL IMMEDIATE", settings.areKept], prepared: repository.preparesStatements)
    }

    enum Verdict {
        case writable, settingsChanged
        case failed(OrderingError)
    }

    /// Whether the writes did what they had to do. `outcome` contains the rows of ``trial(keeping:)``, or the
    /// error of one of them.
    func verdict(on outcome: Result<[Rows], PostgresError>) -> Verdict {
        let rows: [Rows]
        switch outcome {
        case .success(let all): rows = all
        case .failure(let error): return .failed(.database(error))
        }
        do throws(OrderingError) {
            for (write, rows) in zip(writes, rows.dropFirst(repository.announcement == nil ? 1 : 2)) {
                try repository.requireWritten(try repository.written(rows), of: write.rows)
            }
        } catch {
            return .failed(error)
        }
        return (try? rows.last?.single().decode(0, as: Bool.self)) == true ? .writable : .settingsChanged
    }
}
