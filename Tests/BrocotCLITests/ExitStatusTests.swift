import Administration
import Testing

@testable import BrocotCLI

/// The waits for these locks take a minute or more, so the commands themselves don't run here.
@Suite("Exit statuses", .timeLimit(.minutes(30))) struct ExitStatusTests {
    @Test(
        "A command that attaches, detaches or repairs tables ends with 5 if others keep its lock or the table's",
        arguments: [AttachError.busy(holders: [], waited: .seconds(60)), .lockTimeout(step: "make the triggers")])
    func locks(error: AttachError) {
        #expect(ExitStatus(of: error) == .lockTimeout)
        #expect(ExitStatus.lockTimeout.rawValue == 5)
    }
}
