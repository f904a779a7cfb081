extension FaultRun.Report {
    /// For people: how often what was broken, and when.
    package var summary: String {
        var lines = ["fault | at once | at a statement | in COMMIT | in all"]
        for kind in FaultKind.allCases {
            let faults = injected.filter { $0.kind == kind }
            let counts = [
                faults.count { $0.phase == nil }, faults.count { $0.phase != nil && !$0.isDuringCommit },
                faults.count(where: \.isDuringCommit), faults.count,
            ]
            lines.append("\(kind.rawValue) | " + counts.map(String.init).joined(separator: " | "))
        }
        for (kind, missing) in FaultRun.leftOut { lines.append("\(kind.rawValue) is left out for want of \(missing)") }
        lines.append("")
        for phase in FaultProxy.Phase.allCases {
            lines.append("\(phase.rawValue): \(injected.count { $0.phase == phase })")
        }
        for (statement, count) in statements { lines.append("\(count) at \(statement)") }
        lines += serverMessages.map { "servers' logs: \($0.text): \($0.count)" }
        lines += slowDrain
        lines.append(
            "\(injected.count) faults in \(duration), \(requests) requests, \(repetitions) statements sent again, "
                + "drained \(drainDuration) after the last fault, \(violations.count) violations")
        return lines.joined(separator: "\n")
    }

    /// How often which statement was stopped at, by its beginning.
    private var statements: [(statement: String, count: Int)] {
        let beginnings = injected.compactMap(\.statement).map { text in
            String(text.split(whereSeparator: \.isWhitespace).joined(separator: " ").prefix(60))
        }
        return Dictionary(grouping: beginnings) { $0 }.map { ($0.key, $0.value.count) }
            .sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    }
}
