import LibPQ
import TestLimit
import Testing

@testable import BrocotCLI

@Suite("Settings of the daemon", .usualTimeLimit) struct DaemonSettingsTests {
    @Test(
        "The configuration of a daemon has the delay of max_delay, and none if the daemon drains the queue",
        arguments: [false, true])
    func maxDelay(drains: Bool) throws {
        let settings = try DaemonSettings(
            SettingsReader(options: [:], environment: ["BROCOT_MAX_DELAY": "20"], file: nil))
        let configuration = settings.configuration(
            try ConnectionParameters(url: "postgresql://localhost/shop"), drains: drains)
        #expect(configuration.drains == drains)
        #expect(configuration.queue.maxDelay == (drains ? .zero : .milliseconds(20)))
    }
}
