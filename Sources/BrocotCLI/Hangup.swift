import UnixSignals

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What SIGHUP means to a daemon.
enum Hangup {
    /// In a terminal it ends the daemon as SIGTERM does: the terminal is gone. Elsewhere it is ignored: whoever sends it
    /// there wants settings to be read again, and those are read at the start.
    static func endingSignals() -> [UnixSignal] {
        if isatty(STDIN_FILENO) != 0 || isatty(STDERR_FILENO) != 0 { return [.sighup] }
        signal(SIGHUP, SIG_IGN)
        return []
    }
}
