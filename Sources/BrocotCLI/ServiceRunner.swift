import Logging
import ServiceLifecycle
import UnixSignals

/// Runs services until one ends, or SIGTERM, SIGINT or another signal that is named asks them to.
enum ServiceRunner {
    /// What isn't done so long after the signal is cancelled, and rolls back; the process ends within 10 s.
    private static let longestShutdown = Duration.seconds(8)

    /// Shuts the services down in the opposite order, each after the one before has ended.
    static func run(
        _ services: [any Service], alsoOn signals: [UnixSignal] = [], logger: Logger
    ) async throws {
        var configuration = ServiceGroupConfiguration(
            services: services.map { service in
                .init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)
            },
            gracefulShutdownSignals: [.sigterm, .sigint] + signals, logger: logger)
        configuration.maximumGracefulShutdownDuration = longestShutdown
        configuration.maximumCancellationDuration = .seconds(1)
        try await ServiceGroup(configuration: configuration).run()
    }
}
