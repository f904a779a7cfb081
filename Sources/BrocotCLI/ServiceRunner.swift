import Logging
import ServiceLifecycle

/// Runs a service until it ends or SIGTERM or SIGINT asks it to.
enum ServiceRunner {
    /// What isn't done so long after the signal is cancelled, and rolls back; the process ends within 10 s.
    private static let longestShutdown = Duration.seconds(8)

    static func run(_ service: some Service, logger: Logger) async throws {
        var configuration = ServiceGroupConfiguration(
            services: [
                ServiceGroupConfiguration.ServiceConfiguration(
                    service: service, successTerminationBehavior: .gracefullyShutdownGroup)
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        configuration.maximumGracefulShutdownDuration = longestShutdown
        configuration.maximumCancellationDuration = .seconds(1)
        try await ServiceGroup(configuration: configuration).run()
    }
}
