import FoundationEssentials
import Subprocess
import TestPostgres

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The program, run to its end with a test's database.
struct BrocotProcess {
    /// What a shell has in `$?`; nil where a signal ended it.
    let exitCode: Int32?
    let output: String
    let errors: String

    /// Runs `brocot` with these arguments.
    static func run(
        _ arguments: String..., databaseURL: String = TestDatabase.current.url,
        environment: [Environment.Key: String] = [:], input: String = ""
    ) async throws -> BrocotProcess {
        try await run(arguments, databaseURL: databaseURL, environment: environment, input: input)
    }

    static func run(
        _ arguments: [String], databaseURL: String = TestDatabase.current.url,
        environment: [Environment.Key: String] = [:], input: String = ""
    ) async throws -> BrocotProcess {
        let variables = environment.merging(["BROCOT_DATABASE_URL": databaseURL]) { $1 }
        return try await withDeadline("this ended: brocot \(arguments.joined(separator: " "))") {
            try await runToItsEnd(arguments, variables, input)
        }
    }

    private static func runToItsEnd(
        _ arguments: [String], _ variables: [Environment.Key: String?], _ input: String
    ) async throws -> BrocotProcess {
        let result = try await Subprocess.run(
            .path(.init(BrocotProgram.path)), arguments: Arguments(arguments),
            environment: .inherit.updating(variables),
            input: .fileDescriptor(.init(rawValue: try descriptor(of: input)), closeAfterSpawningProcess: true),
            output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        let exitCode: Int32? =
            if case .exited(let code) = result.terminationStatus { code } else { nil }
        return BrocotProcess(
            exitCode: exitCode, output: result.standardOutput, errors: result.standardError)
    }

    /// A file, not a pipe: writing to a pipe fails if the program ends before it reads its input, and Subprocess then stops this process.
    private static func descriptor(of input: String) throws -> CInt {
        guard let file = tmpfile() else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        defer { fclose(file) }
        let bytes = Array(input.utf8)
        fwrite(bytes, 1, bytes.count, file)
        rewind(file)
        return fcntl(fileno(file), F_DUPFD_CLOEXEC, 0)
    }
}
