extension FaultRun.Report {
    /// A summary for people: how often each kind of fault happened, and when.
    package var summary: String {
        var lines = ["fault | at any time | at a statement | in COMMIT | in all"]
        for kind in FaultKind.allCases {
            let faults = injected.filter { $0.kind == kind }
            let inCommit = faults.count { $0.boundary?.step == .commit }
            let anytime = faults.count { $0.phase == nil }
            let counts = [anytime, faults.count - anytime - inCommit, inCommit, faults.count]
            lines.append("\(kind.rawValue) | " + counts.map(String.init).joined(separator: " | "))
        }
        for (kind, missing) in FaultRun.leftOut { lines.append("\(kind.rawValue) is left out for want of \(missing)") }
        if let fullness = ReplicatedServers.fullness { lines.append("disks were full by \(fullness)") }
        lines += ["", "step of a batch | " + FaultProxy.Phase.allCases.map(\.rawValue).joined(separator: " | ")]
        for step in BatchStep.allCases {
            let counts = FaultProxy.Phase.allCases.map { phase in
                injected.count { $0.boundary == Boundary(step: step, phase: phase) }
            }
            lines.append("\(step.rawValue) | " + counts.map(String.init).joined(separator: " | "))
        }
        lines.append("")
        lines += serverMessages.map { "servers' logs: \($0.text): \($0.count)" }
        lines += slowDrain
        lines.append(
            "\(injected.count) faults in \(duration), \(requests) requests, \(writtenRows) rows by SQL, \(repetitions) statements sent again, "
                + "drained \(drainDuration) after the last fault, \(violations.count) violations")
        return lines.joined(separator: "\n")
    }
}

extension [InjectedFault] {
    /// The moments of a batch's transaction that no fault has met.
    package var missedBoundaries: [Boundary] {
        let met = Set(compactMap(\.boundary))
        return Boundary.allCases.filter { !met.contains($0) }
    }
}
