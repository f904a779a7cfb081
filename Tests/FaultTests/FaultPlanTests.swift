import TestLimit
import Testing

@testable import FaultHarness

@Suite("Plan of faults", .usualTimeLimit) struct FaultPlanTests {
    @Test("A plan of faults has every kind of fault once before it repeats a kind")
    func everyKind() {
        let plan = FaultPlan(seed: 1, faults: FaultKind.allCases.count, daemons: 4)
        #expect(Set(plan.faults.map(\.kind)) == Set(FaultKind.allCases))
    }

    @Test("A plan of faults is the same for the same seed, and different for another seed")
    func seeded() {
        func plan(_ seed: UInt64) -> [String] {
            FaultPlan(seed: seed, faults: 300, daemons: 4).faults.map { "\($0)" }
        }
        #expect(plan(7) == plan(7))
        #expect(plan(7) != plan(8))
    }

    @Test("The injected faults show at which moments nothing broke") func missed() {
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

    @Test("A plan of faults meets every step of a batch before, during and after the step, about equally often")
    func moments() {
        let moments = FaultPlan(seed: 1, faults: 300, daemons: 4).faults.filter { $0.kind != .commitAnswerLost }
            .map(\.moment)
        let counts = Boundary.allCases.map { boundary in moments.count { $0 == .boundary(boundary) } }
        #expect(counts.min()! >= 4)
        #expect(counts.max()! - counts.min()! <= 1)
        #expect(moments.contains(.anytime))
    }
}
