import Dispatch
import Logging
import ServiceLifecycle

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Ends the process if its shutdown takes too long. For example, if a server doesn't answer, cancelling the tasks that wait for it
/// has no effect. Ending the process is safe, because the server rolls back open transactions, or finishes their COMMIT.
struct ShutdownLimit: Service {
    let duration: Duration
    let logger: Logger

    func run() async throws {
        var status = ExitStatus.done
        // Otherwise another service has failed.
        do { try await gracefulShutdown() } catch { status = .failed }
        // This runs on a separate thread, because no other thread may be free.
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(duration / .milliseconds(1)))) {
            [status] in
            logger.warning(
                "the shutdown took too long; the server rolls back open transactions, or finishes their COMMIT")
            _exit(status.rawValue)
        }
    }
}
