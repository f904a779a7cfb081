import Ordering
import OrderingModel

extension RunRecord {
    /// The violations, as text; empty if there are none.
    package func violations() -> [String] {
        var found: [String] = []
        if pendingCount > 0 { found.append("\(pendingCount) requests are pending") }
        found += outcomeViolations()
        found += orderViolations()
        found += modelViolations()
        return found
    }

    /// Every request has exactly one outcome, and there are no others.
    private func outcomeViolations() -> [String] {
        var found: [String] = []
        var outcomesByKey: [String: [Outcome]] = [:]
        for outcome in outcomes { outcomesByKey[outcome.key ?? "", default: []].append(outcome) }
        for request in asked {
            let own = outcomesByKey.removeValue(forKey: request.key) ?? []
            guard own.count == 1 else {
                found.append("request \(request.identifier) has \(own.count) outcomes")
                continue
            }
            if own[0].identifier != request.identifier || own[0].move != request.move {
                found.append("request \(request.identifier) was logged as something else")
            }
            if own[0].errorCode == "failed" { found.append("request \(request.identifier) failed") }
        }
        for (key, outcomes) in outcomesByKey {
            found.append("\(outcomes.count) outcomes of key '\(key)', never asked for")
        }
        return found
    }

    /// A request that was committed before another of its list was sent is applied before that.
    private func orderViolations() -> [String] {
        let times = Dictionary(asked.map { ($0.identifier, $0) }) { first, _ in first }
        var latestSent: [ListIdentifier: AskedRequest] = [:]
        var found: [String] = []
        for outcome in outcomes {
            guard let request = times[outcome.identifier] else { continue }
            for list in outcome.move.lists {
                if let earlier = latestSent[list], request.acknowledgedAt < earlier.sentAt {
                    found.append(
                        "list \(list): request \(earlier.identifier) was applied before \(request.identifier), "
                            + "which had been committed before it was sent")
                }
                if latestSent[list].map({ $0.sentAt < request.sentAt }) ?? true { latestSent[list] = request }
            }
        }
        return found + identifierViolations(times)
    }

    /// Requests of one statement are visible at once: they are applied in the order of their ids.
    private func identifierViolations(_ times: [Int64: AskedRequest]) -> [String] {
        struct Statement: Hashable {
            let list: ListIdentifier
            let sentAt: ContinuousClock.Instant
        }
        var latest: [Statement: Int64] = [:]
        var found: [String] = []
        for outcome in outcomes {
            guard let request = times[outcome.identifier] else { continue }
            for list in outcome.move.lists {
                let statement = Statement(list: list, sentAt: request.sentAt)
                if let earlier = latest[statement], earlier > outcome.identifier {
                    found.append("list \(list): request \(earlier) was applied before \(outcome.identifier)")
                }
                latest[statement] = outcome.identifier
            }
        }
        return found
    }

    /// The same moves, applied to plain arrays in the same order, give the same lists.
    private func modelViolations() -> [String] {
        let moves = Dictionary(asked.map { ($0.identifier, $0.move) }) { first, _ in first }
        var models = Dictionary(
            uniqueKeysWithValues: tables.map { ($0.name, FaultTables.model(of: $0)) })
        var found: [String] = []
        for outcome in outcomes {
            guard let move = moves[outcome.identifier] else { continue }
            let expected = models[move.list.orderedTable]?.apply(move)?.rawValue
            if outcome.errorCode != expected {
                found.append(
                    "request \(outcome.identifier) was \(outcome.errorCode ?? "applied"), not \(expected ?? "applied")")
            }
        }
        let modelled = models.flatMap { table, model in model.lists.keys.map { ListIdentifier($0, of: table) } }
        for list in Set(lists.keys).union(modelled).sorted(by: { $0.description < $1.description }) {
            let expected = models[list.orderedTable]?.lists[list.key]?.placed ?? []
            guard lists[list] ?? [] != expected else { continue }
            found.append("list \(list) is \(lists[list] ?? []), not \(expected)")
        }
        return found
    }
}
