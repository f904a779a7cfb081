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

    @Test("reaches before, during and after statements and COMMIT")
    func moments() {
        let moments = Set(FaultPlan(seed: 1, faults: 1_000, daemons: 4).faults.map(\.moment))
        for phase in FaultProxy.Phase.allCases {
            #expect(moments.contains(.commit(phase)))
            for ordinal in 1...8 { #expect(moments.contains(.statement(ordinal, phase))) }
        }
        #expect(moments.contains(.anytime))
    }
}
