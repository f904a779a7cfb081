import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Writes the lines of a daemon's log. A log that nobody reads, such as a full pipe or a stopped terminal, must not stop the daemon: its
/// lines are dropped and counted.
final class LogOutput: Sendable {
    private struct State {
        /// Whether the last line could not be written.
        var isBlocked = false
        /// Whether the last line was written in part.
        var endsInsideLine = false
        var lostLines = 0
    }

    private let descriptor: Int32
    private let patience: Duration
    private let state = Mutex(State())

    /// Errors of a file that can't grow at present.
    private static let errorsOfDisk = [ENOSPC, EDQUOT, EFBIG, EIO]

    /// The longest text that a pipe takes at once after poll(2) has called it writable.
    private static let longestPart = 4_096

    /// - Parameters:
    ///   - descriptor: Where the log is written. It must stay open.
    ///   - patience: How long to wait for the reader, from 0 to 1 hour. After a line that could not be written, it is 0.
    init(_ descriptor: Int32 = Stream.error.rawValue, patience: Duration = .seconds(1)) {
        self.descriptor = Self.terminal(descriptor) ?? descriptor
        self.patience = patience
    }

    /// The terminal behind the descriptor, opened a second time as non-blocking; nil if there is none. A terminal may take fewer bytes than
    /// a writer expects after poll(2). The descriptor itself stays as it is, because other processes may share it.
    private static func terminal(_ descriptor: Int32) -> Int32? {
        guard let name = ttyname(descriptor) else { return nil }
        let terminal = open(name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        return terminal < 0 ? nil : terminal
    }

    /// Writes the line and a line feed, or drops the line. If lines were lost before, the line that `warning` returns comes first.
    func printLine(_ line: String, warning: (_ lostLines: Int) -> String) {
        state.withLock { state in
            if state.lostLines > 0, print(warning(state.lostLines), &state) { state.lostLines = 0 }
            if state.lostLines > 0 || !print(line, &state) { state.lostLines += 1 }
        }
    }

    /// The text of a warning for people.
    static func notice(ofLostLines count: Int) -> String {
        "\(count == 1 ? "1 line of the log was lost" : "\(count) lines of the log were lost"), because standard error was not read in time, or its disk is full"
    }

    /// Returns false if the reader does not take the line. A line that can never be written, because the reader is gone, is dropped without
    /// a trace.
    private func print(_ line: String, _ state: inout State) -> Bool {
        let patience = state.isBlocked ? .zero : self.patience
        let text = Array(((state.endsInsideLine ? "\n" : "") + line + "\n").utf8)
        var rest = text[...]
        var deadline = ContinuousClock.now + patience
        state.isBlocked = false
        while !rest.isEmpty, !state.isBlocked {
            let count = writePart(of: rest, until: deadline)
            guard count >= 0 else { return true }
            state.isBlocked = count == 0
            rest = rest.dropFirst(count)
            deadline = .now + patience
        }
        if rest.count < text.count { state.endsInsideLine = !rest.isEmpty }
        return !state.isBlocked
    }

    /// Writes as much as is possible at once.
    ///
    /// - Returns: The number of written bytes; 0 if nothing could be written until the deadline, or at present; -1 if nothing can ever be written.
    private func writePart(of bytes: ArraySlice<UInt8>, until deadline: ContinuousClock.Instant) -> Int {
        while true {
            var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let timeout = max(0, Int32((deadline - .now) / .milliseconds(1)))
            let isReady = poll(&request, 1, timeout)
            if isReady > 0 {
                let count = bytes.prefix(Self.longestPart).withUnsafeBytes {
                    write(descriptor, $0.baseAddress, $0.count)
                }
                guard count < 0 else { return count }
                guard !Self.errorsOfDisk.contains(errno) else { return 0 }
                guard errno == EINTR || errno == EAGAIN else { return -1 }
            }
            guard .now < deadline else { return 0 }
            // A terminal may report that it is ready, and still accept no bytes.
            if isReady > 0, errno == EAGAIN { usleep(10_000) }
        }
    }
}
