import Foundation
import Logging
import Synchronization
import TestLimit
import TestPostgres
import Testing

@testable import BrocotCLI

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Output of a daemon's log", .usualTimeLimit) struct LogOutputTests {
    @Test("Lines that nobody reads are dropped, and the next line is preceded by their number")
    func lostLines() throws {
        let pipe = try LogPipe()
        let output = LogOutput(pipe.writing, patience: .zero)
        output.print("first")
        #expect(pipe.drain() == "first\n")
        pipe.fill()
        for line in ["a", "b", "c"] { output.print(line) }
        _ = pipe.drain()
        output.print("next")
        #expect(pipe.drain() == "lost: 3\nnext\n")
        output.print("last")
        #expect(pipe.drain() == "last\n")
    }

    @Test("A line that was written in part is ended before the next one, and counts as lost")
    func cutLine() throws {
        let pipe = try LogPipe()
        let output = LogOutput(pipe.writing, patience: .zero)
        output.print(String(repeating: "x", count: 1 << 22))
        let cut = pipe.drain()
        #expect(cut.count >= 4_096 && cut.allSatisfy { $0 == "x" })
        output.print("next")
        #expect(pipe.drain() == "\nlost: 1\nnext\n")
    }

    @Test("Lines are lost while the disk of the log is full, and the next line is preceded by their number")
    func fullDisk() throws {
        let descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let output = LogOutput(descriptor, patience: .seconds(60))
        for line in ["a", "b"] { output.print(line) }
        let pipe = try LogPipe()
        dup2(pipe.writing, descriptor)
        output.print("next")
        #expect(pipe.drain() == "lost: 2\nnext\n")
    }

    @Test("A long line is written whole if the reader is slower")
    func longLine() async throws {
        let pipe = try LogPipe()
        let output = LogOutput(pipe.writing, patience: .seconds(60))
        let line = String(repeating: "0123456789", count: 100_000)
        let reading = Mutex("")
        let reader = Thread { reading.withLock { $0 = pipe.read(upTo: "\n") } }
        reader.start()
        output.print(line)
        try await eventually("the reader has the whole line") { reader.isFinished }
        #expect(reading.withLock { $0 } == line + "\n")
    }

    @Test("Only the first line waits for a reader that has stopped")
    func patience() throws {
        let pipe = try LogPipe()
        pipe.fill()
        let patience = Duration.milliseconds(100)
        let output = LogOutput(pipe.writing, patience: patience)
        #expect(ContinuousClock().measure { output.print("first") } >= patience)
        #expect(ContinuousClock().measure { for _ in 0..<1_000 { output.print("other") } } < patience * 500)
    }

    #if os(Linux)
        @Test("A terminal that nobody reads keeps no line waiting")
        func terminal() throws {
            let main = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            try #require(main >= 0)
            defer { close(main) }
            var (locked, number): (Int32, Int32) = (0, 0)
            // TIOCSPTLCK and TIOCGPTN, which Swift does not import.
            try #require(ioctl(main, 0x4004_5431, &locked) == 0 && ioctl(main, 0x8004_5430, &number) == 0)
            let terminal = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
            try #require(terminal >= 0)
            defer { close(terminal) }
            let output = LogOutput(terminal, patience: .zero)
            for _ in 0..<10_000 { output.print("a line of sixty characters, many of which fill a terminal") }
            #expect(fcntl(terminal, F_GETFL) & O_NONBLOCK == 0, "other programs use it too")
        }
    #endif

    @Test("The log says how many lines were lost, as text and as JSON", arguments: LogFormat.allCases)
    func warning(format: LogFormat) throws {
        let pipe = try LogPipe()
        let output = LogOutput(pipe.writing, patience: .zero)
        let logger = Logger(label: "test") { _ in LineLogHandler(format: format, logLevel: .error, output: output) }
        for lost in ["1 line of the log was lost", "2 lines of the log were lost"] {
            pipe.fill()
            for _ in 0..<(lost.hasPrefix("1") ? 1 : 2) { logger.error("lost") }
            _ = pipe.drain()
            logger.error("next")
            let lines = pipe.drain().split(separator: "\n")
            try #require(lines.count == 2, "\(lines)")
            #expect(
                lines[0].contains("warning")
                    && lines[0].contains("\(lost), because standard error was not read in time"))
            #expect(lines[1].contains("next"))
            #expect(lines.allSatisfy { ($0.first == "{" && $0.last == "}") == (format == .json) }, "\(lines)")
        }
    }
}

extension LogOutput {
    fileprivate func print(_ line: String) { printLine(line) { "lost: \($0)" } }
}

/// A pipe that a test fills, so that a writer has to wait.
final class LogPipe: Sendable {
    let reading: Int32
    let writing: Int32

    init() throws {
        var descriptors: [Int32] = [0, 0]
        try #require(pipe(&descriptors) == 0)
        (reading, writing) = (descriptors[0], descriptors[1])
        for descriptor in descriptors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        close(reading)
        close(writing)
    }

    func fill() {
        let part = [UInt8](repeating: UInt8(ascii: "y"), count: 4_096)
        Self.withoutWaiting(writing) {
            for size in [part.count, 1] { while write(writing, part, size) > 0 {} }
        }
    }

    /// All that the pipe contains.
    func drain() -> String { Self.withoutWaiting(reading) { read(upTo: nil) } }

    /// Reads until a text ends with `end`, or nothing more comes.
    func read(upTo end: String?) -> String {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = Foundation.read(reading, &part, part.count), count > 0 {
            bytes += part[..<count]
            if let end, bytes.suffix(end.utf8.count).elementsEqual(end.utf8) { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func withoutWaiting<Result>(_ descriptor: Int32, _ body: () -> Result) -> Result {
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        defer { _ = fcntl(descriptor, F_SETFL, 0) }
        return body()
    }
}
