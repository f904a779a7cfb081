#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Where text goes: data to standard output; logs, progress and errors to standard error.
enum Stream: Int32 {
    case output = 1
    case error = 2

    /// Writes exactly this text, for programs or made printable before, and a line feed at once, unbuffered: lines of several threads don't mix, and who reads through a
    /// pipe has each line as it is printed. A reader that is gone is no reason to fail.
    func print(_ text: String) {
        var line = Array((text + "\n").utf8)[...]
        while !line.isEmpty {
            let count = line.withUnsafeBytes { write(rawValue, $0.baseAddress, $0.count) }
            if count < 0 && errno != EINTR { return }
            line = line.dropFirst(max(count, 0))
        }
    }

    /// Writes text of one or several lines for a person, whatever names and keys are in it.
    func tell(_ text: String) { print(text.printableLines) }

    /// Whether a person is looking.
    var isTerminal: Bool { isatty(rawValue) == 1 }
}
