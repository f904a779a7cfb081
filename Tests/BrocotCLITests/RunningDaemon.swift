import Subprocess
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension RunningBrocot {
    /// Runs `brocot daemon`, gives it to `body` once it has printed `text`, and sends it SIGTERM afterwards. Expects that it ends with 0 and
    /// in time, as operators are promised.
    ///
    /// What `body` throws is thrown on, and the daemon is killed.
    static func withDaemon(
        _ options: [String] = [], until text: String = "connected", databaseURL: String = TestDatabase.current.url,
        environment: [Environment.Key: String] = [:], printing printed: PrintedText = PrintedText(),
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @escaping @Sendable (RunningBrocot) async throws -> Void
    ) async throws {
        let exitCode = try await run(
            ["daemon"] + options, in: "/tmp", until: text, databaseURL: databaseURL, environment: environment,
            printing: printed
        ) { daemon in
            try await body(daemon)
            daemon.send(SIGTERM)
            try await daemon.waitUntilItHasEnded()
        }
        #expect(exitCode == 0, sourceLocation: sourceLocation)
    }

    /// The same with a daemon that answers HTTP, and logs as JSON. `body` gets its port too.
    static func withProbedDaemon(
        _ options: [String] = [], until text: String = "connected", databaseURL: String = TestDatabase.current.url,
        printing printed: PrintedText = PrintedText(), sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @escaping @Sendable (RunningBrocot, _ port: UInt16) async throws -> Void
    ) async throws {
        try await withDaemon(
            ["--http", "127.0.0.1:0", "--log-format", "json"] + options, until: text, databaseURL: databaseURL,
            printing: printed, sourceLocation: sourceLocation
        ) { daemon in
            try await body(daemon, try daemon.probePort)
        }
    }
}
