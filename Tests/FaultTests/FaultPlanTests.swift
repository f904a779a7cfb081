import Testing

@testable import FaultHarness

@Suite("A plan of faults", .timeLimit(.minutes(30))) struct FaultPlanTests {
    @Test("has every kind once before any comes twice")
    func everyKind() {
        let plan = FaultPlan(seed: 1, faults: FaultKind.allCases.count, daemons: 4)
        #expect(Set(plan.faults.map(\.kind)) == Set(FaultKind.allCases))
    }

    @Test("is the same for a seed, and another for another")
    func seeded() {
        func plan(_ seed: UInt64) -> [String] {
            FaultPlan(seed: seed, faults: 300, daemons: 4).faults.map { "\($0)" }
        }
        #expect(plan(7) == plan(7))
        #expect(plan(7) != plan(8))
    }

    @Test("is judged by the moments at which something broke") func missed() {
        let boundaries = Boundary.allCases.filter { $0.description != "finish, underWay" }
        let texts: [BatchStep: String] = [
            .begin: "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 1",
            .lock: "SELECT pg_try_advisory_xact_lock(1)",
            .readRequests: "SELECT FROM brocot.move_requests", .readTables: "SELECT FROM brocot.ordered_tables",
            .readItems: "SELECT FROM brocot.items", .writeItems: "UPDATE brocot.items RETURNING true",
            .set: "SET LOCAL a = b",
            .finish: "WITH decided AS (DELETE FROM brocot.move_requests) INSERT INTO brocot.move_log",
            .commit: "COMMIT",
        ]
        let injected = boundaries.map { boundary in
            InjectedFault(
                kind: .connectionCut, phase: boundary.phase,
                statement: .init(text: texts[boundary.step] ?? "", isInTransaction: boundary.step != .begin))
        }
        #expect(injected.missedBoundaries.map(\.description) == ["finish, underWay"])
        let outside = InjectedFault(
            kind: .connectionCut, phase: .underWay,
            statement: .init(text: texts[.finish] ?? "", isInTransaction: false))
        #expect((injected + [outside]).missedBoundaries.count == 1)
    }

    @Test("meets every step of a batch before, during and after, each about as often as any other")
    func moments() {
        let moments = FaultPlan(seed: 1, faults: 300, daemons: 4).faults.filter { $0.kind != .commitAnswerLost }
            .map(\.moment)
        let counts = Boundary.allCases.map { boundary in moments.count { $0 == .boundary(boundary) } }
        #expect(counts.min()! >= 4)
        #expect(counts.max()! - counts.min()! <= 1)
        #expect(moments.contains(.anytime))
    }
}
