#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A pipe with which another thread can end a `poll(2)`.
final class WakePipe: Sendable {
    private let readEnd: Int32
    private let writeEnd: Int32

    init() throws(PostgresError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw PostgresError(
                .connectionFailed, "no pipe can be opened: \(systemMessage(errno))",
                hint: "The process may have too many open files (ulimit -n).")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    func signal() {
        var byte: UInt8 = 0
        // If the pipe is full, it already contains a signal.
        _ = write(writeEnd, &byte, 1)
    }

    enum Readiness { case socket, woken, timedOut }

    /// Waits for the socket, a signal or the time-out (nil means none), whichever comes first, and removes the signals.
    func wait(socket: Int32?, forWriting: Bool = false, timeout: Duration?) -> Readiness {
        let events = Int16(POLLIN) | (forWriting ? Int16(POLLOUT) : 0)
        var descriptors = [
            pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket ?? -1, events: events, revents: 0),
        ]
        let ready = poll(&descriptors, 2, timeout.map(pollMilliseconds) ?? -1)
        if ready == 0 { return .timedOut }
        // An interrupted poll counts as a signal: every caller checks its state again.
        guard ready > 0, descriptors[0].revents == 0 else {
            drain()
            return .woken
        }
        return .socket
    }

    private func drain() {
        var bytes: (UInt64, UInt64) = (0, 0)
        while read(readEnd, &bytes, 16) == 16 {}
    }
}

/// Rounds up, so that a wait of less than a millisecond does not become a busy loop.
private func pollMilliseconds(_ duration: Duration) -> Int32 {
    let (seconds, attoseconds) = duration.components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    guard seconds < 1_000_000 else { return 1_000_000_000 }
    return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
}

private func systemMessage(_ number: Int32) -> String {
    String(cString: strerror(number))
}
