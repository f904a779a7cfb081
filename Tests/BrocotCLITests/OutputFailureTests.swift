import Subprocess
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

@Suite("Failure of the standard output", .usualTimeLimit) struct OutputFailureTests {
    @Test("Every command that prints data fails if the standard output can't be written", .database)
    func fullDisk() async throws {
        try await TestDatabase.current.observer.execute("INSERT INTO brocot.items VALUES ('l', 'a', 1, 1, 1)")
        for command in [
            ["migrate", "status"], ["show", "l"], ["check", "l"], ["status"], ["doctor"],
            ["grant", "reader", "postgres", "--dry-run"], ["daemon", "--dump-config"], ["--help"], ["--version"],
        ] {
            let (status, errors) = try await run(command)
            #expect(status == .exited(1), "\(command)")
            #expect(
                errors.contains("Standard output can't be written: No space left on device."), "\(command): \(errors)")
        }
    }

    @Test("brocot migrate plan fails if the standard output can't be written", .database(migrated: false))
    func plan() async throws {
        #expect(try await run(["migrate", "plan", "--sql"]).status == .exited(1))
    }

    @Test("A command that changes the database goes on if nobody reads its output any more", .database) func unread()
        async throws
    {
        let connection = try await TestDatabase.current.observer
        for number in 1...4 {
            try await connection.execute(script: "CREATE TABLE board_\(number) (id int PRIMARY KEY)")
            let attached = try await BrocotProcess.run("attach", "public.board_\(number)", "--item", "id")
            #expect(attached.exitCode == 0)
            try await connection.execute(script: "DROP INDEX brocot_board_\(number)_rank")
        }
        let (reading, writing) = try FileDescriptor.pipe()
        try reading.close()
        #expect(try await run(["check", "--repair"], output: writing).status == .exited(0))
        let indexes = try await connection.query("SELECT FROM pg_indexes WHERE indexname LIKE 'brocot_board_%_rank'")
        #expect(indexes.count == 4)
    }

    /// A terminal can be non-blocking because another process made it so.
    @Test("A command waits for the reader of a non-blocking output, and prints everything", .database)
    func nonBlocking() async throws {
        try await TestDatabase.current.observer.execute(
            "INSERT INTO brocot.items SELECT 'l', 'item ' || n, n, 1, n FROM generate_series(1, 20000) AS n")
        let (reading, writing) = try FileDescriptor.pipe()
        #expect(fcntl(writing.rawValue, F_SETFL, O_NONBLOCK) == 0)
        async let result = run(["show", "l", "--limit", "20000"], output: writing)
        try await eventually("the pipe is full") {
            var waiting: Int32 = 0
            return ioctl(reading.rawValue, UInt(FIONREAD), &waiting) == 0 ? waiting : -1
        } until: {
            $0 >= 65_536
        }
        var text: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = try part.withUnsafeMutableBytes({ try reading.read(into: $0) }), count > 0 {
            text += part[..<count]
        }
        try reading.close()
        let ended = try await result
        #expect(ended.status == .exited(0), "\(ended.errors)")
        #expect(text.count { $0 == UInt8(ascii: "\n") } == 20_001)
    }

    /// Runs `brocot` with a standard output that can't be written, or with this one.
    private func run(
        _ arguments: [String], output: FileDescriptor? = nil
    ) async throws -> (status: TerminationStatus, errors: String) {
        let output = if let output { output } else { try FileDescriptor.open("/dev/full", .writeOnly) }
        let url = TestDatabase.current.url
        return try await withDeadline("this ended: brocot \(arguments.joined(separator: " "))") {
            let result = try await Subprocess.run(
                .path(.init(BrocotProgram.path)), arguments: Arguments(arguments),
                environment: .inherit.updating(["BROCOT_DATABASE_URL": url]),
                output: .fileDescriptor(output, closeAfterSpawningProcess: true), error: .string(limit: 1 << 16))
            return (result.terminationStatus, result.standardError)
        }
    }
}
