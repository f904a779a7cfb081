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

    private static let timeToLog = DispatchTimeInterval.milliseconds(500)

    func run() async throws {
        var status = ExitStatus.done
        // An error means that another service has failed.
        do { try await gracefulShutdown() } catch { status = .failed }
        let end = DispatchTime.now() + .milliseconds(Int(duration / .milliseconds(1)))
        // Each serial queue has a thread of its own. A global queue may have to wait until another thread is free.
        DispatchQueue(label: "shutdown limit").asyncAfter(deadline: end) { [status] in
            logger.warning(
                "the shutdown took too long; the server rolls back open transactions, or finishes their COMMIT")
            _exit(status.rawValue)
        }
        // The first queue may block while it writes the log. So a second queue ends the process in any case.
        DispatchQueue(label: "end").asyncAfter(deadline: end + Self.timeToLog) { [status] in _exit(status.rawValue) }
    }
}
