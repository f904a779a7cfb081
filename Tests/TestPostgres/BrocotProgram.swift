import FoundationEssentials

/// The `brocot` that tests run as a process of its own.
package enum BrocotProgram {
    /// PROGRAM_UNDER_TEST; without it, the program that was built with the tests. `make test` sets it to a release build: that is
    /// what users run, and a debug build checks the options of every command for 0.3 s each time it starts.
    package static let path =
        ProcessInfo.processInfo.environment["PROGRAM_UNDER_TEST"]
        ?? URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "brocot").path
}
