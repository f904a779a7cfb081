import Dispatch
import Logging
import ServiceLifecycle

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Ends the process when it takes too long to end: where a server is silent, say, whatever waits for it is cancelled in
/// vain. That is as good as any other end, since the server rolls back what is under way.
struct ShutdownLimit: Service {
    let duration: Duration
    let logger: Logger

    func run() async throws {
        try? await gracefulShutdown()
        // On a thread of its own: no other may be free.
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(duration / .milliseconds(1)))) {
            logger.warning("not everything could be ended in time; the server rolls back what was under way")
            _exit(ExitStatus.done.rawValue)
        }
    }
}
