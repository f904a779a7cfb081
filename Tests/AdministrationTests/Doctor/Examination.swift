import Administration
import LibPQ
import Logging
import TestPostgres
import Testing

/// What the doctor finds in the running test's database, or at `url`. Each check that isn't `ok` has to give advice.
func examination(
    url: String = TestDatabase.current.url, role: RoleKind = .daemon, oldTransaction: Duration = .seconds(900),
    farBehind: Int = 1_000_000, logRetention: Duration? = nil
) async throws -> [CheckResult] {
    let doctor = Doctor(
        parameters: try ConnectionParameters(url: url), role: role, oldTransaction: oldTransaction,
        farBehind: farBehind, logRetention: logRetention,
        logger: .silent)
    let results = await doctor.examine()
    for result in results where result.level != .ok {
        #expect(result.advice?.isEmpty == false, "\(result.check) says what to do")
    }
    return results
}
