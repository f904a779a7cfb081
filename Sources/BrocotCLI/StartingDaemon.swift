import Daemon
import ServiceLifecycle

/// A daemon and what has to hold before it begins. A service as a whole, so that signals are heard from the start: to end
/// while it still waits for its database is no failure.
struct StartingDaemon: Service {
    let daemon: Daemon
    /// Waits for what the daemon needs, and throws where that is not to be had.
    let prepare: @Sendable () async throws -> Void

    func run() async throws {
        let isStopped = try await cancelWhenGracefulShutdown {
            do {
                try await prepare()
                return false
            } catch {
                guard Task.isCancelled else { throw error }
                return true
            }
        }
        if !isStopped { try await daemon.run() }
    }
}
