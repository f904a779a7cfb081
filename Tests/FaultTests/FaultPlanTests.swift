import Testing

@testable import FaultHarness

@Suite("A plan of faults") struct FaultPlanTests {
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
