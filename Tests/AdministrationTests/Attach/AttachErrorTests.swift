import Ordering
import Testing

@testable import Administration

@Suite("Errors of attach") struct AttachErrorTests {
    @Test("Only a cancellation is reported as interrupted")
    func cancellation() async throws {
        let cancelled = await #expect(throws: AttachError.self) {
            try await wrappingErrors { throw CancellationError() }
        }
        #expect(cancelled?.description.hasPrefix("Interrupted") == true)
        let untrusted = OrderingError.untrustedOwner(table: "t", owner: "ann")
        let other = await #expect(throws: AttachError.self) {
            try await wrappingErrors { throw untrusted }
        }
        #expect(other?.description == untrusted.description)
    }
}
