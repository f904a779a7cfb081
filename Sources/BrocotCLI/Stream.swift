import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Where text goes: data to standard output; logs, progress and errors to standard error.
enum Stream: Int32 {
    case output = 1
    case error = 2

    /// The error number of the first text that could not be written to standard output; 0: all was written.
    private static let outputFailure = Atomic<Int32>(0)

    /// Writes exactly this text, for programs or made printable before, and a line feed at once, unbuffered: lines of
    /// several threads don't mix, and who reads through a pipe has each line as it is printed.
    ///
    /// A text that can't be written to standard output makes the command fail in the end, see ``checkOutput()``.
    func print(_ text: String) {
        write(text + "\n")
    }

    /// Writes the text as it is.
    func write(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { systemWrite(rawValue, $0.baseAddress, $0.count) }
            if count < 0 && errno != EINTR { return noteFailure(errno) }
            bytes = bytes.dropFirst(max(count, 0))
        }
    }

    /// Writes text of one or several lines for a person, whatever names and keys are in it.
    func tell(_ text: String) { print(text.printableLines) }

    /// A reader that has read enough, such as `head`, is no failure.
    private func noteFailure(_ number: Int32) {
        guard self == .output, number != EPIPE else { return }
        _ = Self.outputFailure.compareExchange(expected: 0, desired: number, ordering: .relaxed)
    }

    /// Makes sure that all data was written. Asked once, at the end of every command, so that no command forgets it.
    ///
    /// - Throws: ``CommandFailure`` `.failed`, with the reason.
    static func checkOutput() throws(CommandFailure) {
        let number = outputFailure.load(ordering: .relaxed)
        guard number != 0 else { return }
        throw CommandFailure(.failed, "Standard output can't be written: \(String(cString: strerror(number))).")
    }

    /// Whether a person is looking.
    var isTerminal: Bool { isatty(rawValue) == 1 }
}

/// `write(2)`, which has the name of the method.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
