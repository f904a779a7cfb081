import UnixSignals

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How a daemon handles signals other than SIGTERM and SIGINT.
enum DaemonSignals {
    /// Ignores the signals that must not end the daemon.
    ///
    /// SIGPIPE means that nobody reads the log any more, so it is ignored. In a terminal, SIGHUP means that the terminal was closed,
    /// and ends the daemon like SIGTERM. Elsewhere SIGHUP usually asks a program to read its settings again. It is ignored there,
    /// because settings are read only at the start.
    ///
    /// - Returns: The signals that end the daemon.
    static func prepare() -> [UnixSignal] {
        signal(SIGPIPE, SIG_IGN)
        if isatty(STDIN_FILENO) != 0 || isatty(STDERR_FILENO) != 0 { return [.sighup] }
        signal(SIGHUP, SIG_IGN)
        return []
    }
}
