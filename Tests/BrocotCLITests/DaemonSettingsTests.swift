import LibPQ
import Testing

@testable import BrocotCLI

@Suite("Settings of the daemon", .timeLimit(.minutes(30))) struct DaemonSettingsTests {
    @Test(
        "A daemon that drains the queue does not wait for more requests, whatever --max-delay says",
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
