import Administration
import TestLimit
import Testing

@testable import BrocotCLI

@Suite("Failures of brocot doctor", .usualTimeLimit) struct DoctorFailureTests {
    @Test("The exit status of brocot doctor is that of the first check that fails, and all that fail are counted")
    func failure() {
        let fine = [CheckResult.ok("a", "fine"), .warning("b", "slow", advice: "wait")]
        #expect(DoctorCommand.failure(of: fine) == nil)
        let drift = CheckResult.failure("c", "changed", advice: "restore", .schemaChanged)
        let one = DoctorCommand.failure(of: fine + [drift])
        #expect(one?.status == .drift && one?.description == "1 check fails, see above.")
        let repair = CheckResult.failure("d", "broken", advice: "repair")
        let two = DoctorCommand.failure(of: [drift] + fine + [repair])
        #expect(two?.status == .drift && two?.description == "2 checks fail, see above.")
        #expect(DoctorCommand.failure(of: [repair, drift])?.status == .needsRepair)
    }
}
