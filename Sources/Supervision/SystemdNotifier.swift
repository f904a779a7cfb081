import ServiceLifecycle

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reports to systemd when the service is ready, that it is alive, what it does, and when it stops.
///
/// The notifier does nothing if systemd did not start the process as a unit with `Type=notify`.
package struct SystemdNotifier: Service {
    /// Functions that read the state to report. Until the service is ready they are called 20 times a second, then every few seconds.
    package struct Probe: Sendable {
        /// Whether requests are being applied.
        let isReady: @Sendable () -> Bool
        /// Whether all loops make progress. If not, no sign of life is sent, and systemd restarts the service.
        let isAlive: @Sendable () -> Bool
        /// The state in one line, for people.
        let status: @Sendable () -> String

        package init(
            isReady: @escaping @Sendable () -> Bool, isAlive: @escaping @Sendable () -> Bool,
            status: @escaping @Sendable () -> String
        ) {
            self.isReady = isReady
            self.isAlive = isAlive
            self.status = status
        }
    }

    private let socket: NotifySocket
    private let watchdog: Duration?
    private let probe: Probe

    /// Nil if systemd expects no reports. `environment` contains the variables of the process.
    package init?(environment: [String: String], probe: Probe) {
        guard let socket = environment["NOTIFY_SOCKET"].flatMap(NotifySocket.init) else { return nil }
        self.socket = socket
        self.probe = probe
        watchdog = Self.watchdog(environment)
    }

    /// How long systemd waits for a sign of life; nil if it expects none, or expects it from another process.
    private static func watchdog(_ environment: [String: String]) -> Duration? {
        guard let limit = environment["WATCHDOG_USEC"].flatMap({ Int($0) }), limit > 0 else { return nil }
        if let process = environment["WATCHDOG_PID"], process != "\(getpid())" { return nil }
        return .microseconds(limit)
    }

    /// The pause between two signs of life: a third of the time that systemd waits for one, and 5 seconds at most.
    package static func pauseBetweenSigns(_ watchdog: Duration?) -> Duration {
        min(watchdog.map { $0 / 3 } ?? .seconds(5), .seconds(5))
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            let pause = Self.pauseBetweenSigns(watchdog)
            var (isReady, status, nextSign) = (false, "", ContinuousClock.now)
            while !Task.isCancelled {
                var message = ""
                if !isReady, probe.isReady() {
                    isReady = true
                    message = "READY=1\n"
                }
                let now = probe.status()
                if now != status {
                    status = now
                    message += "STATUS=\(now.replacing("\n", with: " "))\n"
                }
                if watchdog != nil, .now >= nextSign, probe.isAlive() {
                    message += "WATCHDOG=1\n"
                    nextSign = isReady ? .now : .now + pause
                }
                if !message.isEmpty { socket.send(message) }
                // Before readiness the pause is short, because other units wait for it.
                try? await Task.sleep(for: isReady ? pause : .milliseconds(50))
            }
        }
        socket.send("STOPPING=1\nSTATUS=Stopping\n")
    }
}
