import Daemon
import ServiceLifecycle

/// A daemon, and the preparations before it begins. Both are one service, so that signals are handled from the start: ending while
/// the daemon still waits for its database is not a failure.
struct StartingDaemon: Service {
    let daemon: Daemon
    /// Waits until the daemon can begin, and throws if it can't.
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
