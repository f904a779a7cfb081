import FoundationEssentials
import Supervision
import SupervisionHarness
import Synchronization
import TestLimit
import TestPostgres
import Testing

@Suite("Reports to systemd", .usualTimeLimit) struct SystemdNotifierTests {
    private static let alive = SystemdNotifier.Probe(isReady: { true }, isAlive: { true }, status: { "working" })

    /// A name in the abstract namespace.
    private static func unusedAddress() -> String { "@brocot-\(UUID())" }

    @Test(
        "Without the address of a socket, there is nothing to report to",
        arguments: [nil, "", "relative/path", "/", "/" + String(repeating: "long", count: 40)])
    func noAddress(address: String?) {
        let environment = address.map { ["NOTIFY_SOCKET": $0] } ?? [:]
        #expect(SystemdNotifier(environment: environment, probe: Self.alive) == nil)
    }

    @Test("The state is reported when it changes, in one line, and the end of the service too")
    func states() async throws {
        let receiver = try NotifyReceiver(at: Self.unusedAddress())
        let isReady = Flag()
        let probe = SystemdNotifier.Probe(
            isReady: { isReady.isSet }, isAlive: { true },
            status: { isReady.isSet ? "working" : "waiting\nfor the server" })
        let notifier = try #require(
            SystemdNotifier(environment: ["NOTIFY_SOCKET": receiver.address], probe: probe))
        try await whileRunning("the notifier", { try await notifier.run() }) {
            let first = try await receiver.wait(for: "STATUS=")
            #expect(first == ["STATUS=waiting for the server"])
            isReady.set()
            // The notifier may read the new status just before it sees that the service is ready.
            let second = try await receiver.wait(for: "READY=1") + receiver.received()
            #expect(Set(second) == ["READY=1", "STATUS=working"])
        }
        #expect(receiver.received() == ["STOPPING=1", "STATUS=Stopping"], "no sign of life was asked for")
    }

    @Test("Three signs of life are due in the time that systemd waits, and one every 5 seconds at least")
    func pauseBetweenSigns() {
        #expect(SystemdNotifier.pauseBetweenSigns(.seconds(12)) == .seconds(4))
        #expect(SystemdNotifier.pauseBetweenSigns(.seconds(60)) == .seconds(5))
        #expect(SystemdNotifier.pauseBetweenSigns(nil) == .seconds(5))
    }

    @Test("Signs of life are sent as long as the service makes progress")
    func signsOfLife() async throws {
        let receiver = try NotifyReceiver(at: Self.unusedAddress())
        let isStuck = Flag()
        let asked = Atomic(0)
        let probe = SystemdNotifier.Probe(
            isReady: { true },
            isAlive: {
                asked.add(1, ordering: .relaxed)
                return !isStuck.isSet
            }, status: { "working" })
        let notifier = try #require(
            SystemdNotifier(
                environment: ["NOTIFY_SOCKET": receiver.address, "WATCHDOG_USEC": "300000"], probe: probe))
        try await whileRunning("the notifier", { try await notifier.run() }) {
            try await receiver.wait(for: "WATCHDOG=1")
            try await receiver.wait(for: "WATCHDOG=1")
            isStuck.set()
            // A sign may be on its way. After another question, none is.
            let before = asked.load(ordering: .relaxed)
            try await eventually("the notifier asks again", read: { asked.load(ordering: .relaxed) }) {
                $0 > before + 1
            }
            _ = receiver.received()
            let now = asked.load(ordering: .relaxed)
            try await eventually("the notifier asks twice more", read: { asked.load(ordering: .relaxed) }) {
                $0 > now + 1
            }
            #expect(receiver.received().isEmpty)
        }
    }

    @Test("A sign of life that systemd expects from another process is not sent")
    func otherProcess() async throws {
        let receiver = try NotifyReceiver(at: Self.unusedAddress())
        let environment = ["NOTIFY_SOCKET": receiver.address, "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"]
        let notifier = try #require(SystemdNotifier(environment: environment, probe: Self.alive))
        try await whileRunning("the notifier", { try await notifier.run() }) {
            let told = try await receiver.wait(for: "STATUS=")
            #expect(told == ["READY=1", "STATUS=working"])
        }
        #expect(receiver.received() == ["STOPPING=1", "STATUS=Stopping"])
    }
}
