import Logging
import ServiceLifecycle
import UnixSignals

/// Runs services until one ends, or SIGTERM, SIGINT or another signal that is named asks them to.
enum ServiceRunner {
    /// What isn't done so long after the signal is cancelled, and rolls back.
    private static let longestShutdown = Duration.seconds(7)
    /// What doesn't end then either is left where it is: the process ends within 10 s.
    private static let end = Duration.seconds(9)

    /// Shuts the services down in the opposite order, each after the one before has ended.
    static func run(
        _ services: [any Service], alsoOn signals: [UnixSignal] = [], logger: Logger
    ) async throws {
        var configuration = ServiceGroupConfiguration(
            services: (services + [ShutdownLimit(duration: end, logger: logger)]).map { service in
                .init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)
            },
            gracefulShutdownSignals: [.sigterm, .sigint] + signals, logger: logger)
        configuration.maximumGracefulShutdownDuration = longestShutdown
        try await ServiceGroup(configuration: configuration).run()
    }
}
