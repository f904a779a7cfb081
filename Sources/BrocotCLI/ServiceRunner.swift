import Logging
import ServiceLifecycle
import UnixSignals

/// Runs services until one of them ends, or until SIGTERM, SIGINT or another given signal arrives.
enum ServiceRunner {
    /// The time after the signal at which unfinished work is cancelled. Its transactions are rolled back, except those
    /// in COMMIT.
    private static let longestShutdown = Duration.seconds(7)
    /// The time after the signal at which the process ends in any case, so that it ends within 10 s.
    private static let hardShutdownLimit = Duration.seconds(9)

    /// Runs the services. They are shut down in the opposite order, one after the other.
    static func run(
        _ services: [any Service], alsoOn signals: [UnixSignal] = [], logger: Logger
    ) async throws {
        var configuration = ServiceGroupConfiguration(
            services: (services + [ShutdownLimit(duration: hardShutdownLimit, logger: logger)]).map { service in
                .init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)
            },
            gracefulShutdownSignals: [.sigterm, .sigint] + signals, logger: logger)
        configuration.maximumGracefulShutdownDuration = longestShutdown
        do {
            try await ServiceGroup(configuration: configuration).run()
        } catch let error as ServiceGroupError where error.errorCode == .serviceFinishedUnexpectedly {
            // A service ended by itself while a signal shut the others down. That is no failure.
        }
    }
}
