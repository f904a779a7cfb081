import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The output streams: data goes to standard output; logs, progress and errors go to standard error.
enum Stream: Int32 {
    case output = 1
    case error = 2

    /// The error number of the first text that could not be written to standard output; 0 if everything was written.
    private static let outputFailure = Atomic<Int32>(0)

    /// Writes this text and a line feed unchanged and unbuffered. So lines of several threads don't mix, and a reader of a pipe gets
    /// each line at once. The text must be for programs, or already be printable.
    ///
    /// If a text can't be written to standard output, the command fails at its end: see ``checkOutput()``.
    func printUnchanged(_ text: String) {
        write(text + "\n")
    }

    /// Writes the text unchanged.
    func write(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { systemWrite(rawValue, $0.baseAddress, $0.count) }
            if count < 0 {
                switch errno {
                case EINTR: break
                // Another process may have made the terminal non-blocking.
                case EAGAIN: waitUntilWritable()
                default: return noteFailure(errno)
                }
            }
            bytes = bytes.dropFirst(max(count, 0))
        }
    }

    private func waitUntilWritable() {
        var descriptor = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
        _ = poll(&descriptor, 1, -1)
    }

    /// Writes text for people, of one or several lines. Names and keys in it may contain any character.
    func printText(_ text: String) { printUnchanged(text.printableLines) }

    /// Records a failed write. A reader that stops reading, such as `head`, does not count as a failure.
    private func noteFailure(_ number: Int32) {
        guard self == .output, number != EPIPE else { return }
        _ = Self.outputFailure.compareExchange(expected: 0, desired: number, ordering: .relaxed)
    }

    /// Makes sure that all data was written. It is called at the end of every command.
    ///
    /// - Throws: ``CommandFailure`` `.failed`, with the reason.
    static func checkOutput() throws(CommandFailure) {
        let number = outputFailure.load(ordering: .relaxed)
        guard number != 0 else { return }
        throw CommandFailure(.failed, "Standard output can't be written: \(String(cString: strerror(number))).")
    }

    /// Whether the stream is a terminal.
    var isTerminal: Bool { isatty(rawValue) == 1 }
}

/// Calls `write(2)`, whose name is hidden by the method of the same name.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
