import UnixSignals

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What signals mean to a daemon, beside SIGTERM and SIGINT.
enum DaemonSignals {
    /// Ignores those that are no reason to end, from now on.
    ///
    /// SIGPIPE says that nobody reads the log any more. SIGHUP ends a daemon in a terminal as SIGTERM does: the terminal
    /// is gone. Elsewhere it is ignored: whoever sends it there wants settings to be read again, and those are read at
    /// the start.
    ///
    /// - Returns: those that are one.
    static func prepare() -> [UnixSignal] {
        signal(SIGPIPE, SIG_IGN)
        if isatty(STDIN_FILENO) != 0 || isatty(STDERR_FILENO) != 0 { return [.sighup] }
        signal(SIGHUP, SIG_IGN)
        return []
    }
}
