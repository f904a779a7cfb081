import Daemon
import FoundationEssentials
import Logging
import Metrics
import PrometheusText
import ServiceLifecycle
import Supervision

/// The services that report a daemon's state: HTTP probes, metrics, systemd.
struct DaemonProbes {
    let health: DaemonHealth
    private let stallAfter: Duration
    private let server: ProbeServer?

    /// Starts the HTTP server if an address is given. It also answers while the daemon waits for its database.
    static func start(http: ProbeAddress?, stallAfter: Duration, logger: Logger) async throws -> DaemonProbes {
        let health = DaemonHealth()
        guard let http else { return DaemonProbes(health: health, stallAfter: stallAfter, server: nil) }
        let metrics = PrometheusMetrics(help: Daemon.metricsHelp)
        MetricsSystem.bootstrap(metrics)
        let server = try await ProbeServer.start(
            at: http,
            routes: [
                "/metrics": { ProbeAnswer(contentType: PrometheusMetrics.contentType, body: metrics.text) },
                "/healthz": {
                    let stalled = health.stalled(longerThan: stallAfter)
                    return stalled.isEmpty
                        ? ProbeAnswer(body: "ok\n")
                        : ProbeAnswer(status: 503, body: stalled.joined(separator: "\n") + "\n")
                },
                "/readyz": {
                    health.askForReasonNotReady().map { ProbeAnswer(status: 503, body: "not ready: \($0.printable)\n") }
                        ?? ProbeAnswer(body: "ready\n")
                },
            ])
        logger.info("answering HTTP", metadata: ["address": "\(http.host)", "port": .stringConvertible(server.port)])
        return DaemonProbes(health: health, stallAfter: stallAfter, server: server)
    }

    /// The daemon and the services around it, in the order of their start. They stop in the opposite order: systemd is
    /// notified first, and the HTTP server stops last.
    func services(around daemon: any Service) -> [any Service] {
        let notifier = SystemdNotifier(
            environment: ProcessInfo.processInfo.environment,
            probe: .init(
                isReady: { [health] in health.reasonNotReady == nil },
                isAlive: { [health, stallAfter] in health.stalled(longerThan: stallAfter).isEmpty },
                status: { [health] in health.reasonNotReady.map { "Not ready: \($0.printable)" } ?? "Applying requests"
                }))
        let services: [(any Service)?] = [server, daemon, notifier]
        return services.compactMap(\.self)
    }
}
