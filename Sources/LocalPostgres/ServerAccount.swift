import Subprocess

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The operating system's user that runs the server. PostgreSQL refuses to run as root.
package struct ServerAccount: Sendable, Hashable {
    let name: String
    let userID: uid_t
    let groupID: gid_t

    /// The account that has to run the server: nil for an ordinary user; for root `postgres`, or else `nobody`.
    package static func needed() throws(LocalPostgresError) -> ServerAccount? {
        guard geteuid() == 0 else { return nil }
        guard let account = find("postgres") ?? find("nobody") else { throw .noServerAccount }
        return account
    }

    /// Looks an account up in the system's user database.
    static func find(_ name: String) -> ServerAccount? {
        var entry = passwd()
        var buffer = [CChar](repeating: 0, count: 16_384)
        var found: UnsafeMutablePointer<passwd>?
        guard getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return ServerAccount(name: name, userID: entry.pw_uid, groupID: entry.pw_gid)
    }

    /// The command line that runs a program as this account, without supplementary groups.
    ///
    /// It uses `setpriv` of util-linux because `PlatformOptions.userID` can hang: the child process is not created by glibc's
    /// `fork`, and glibc's `setgroups` then waits for threads that exist only in the parent.
    package func command(_ program: String, _ arguments: [String]) -> (executable: Executable, arguments: Arguments) {
        let options = ["--reuid=\(userID)", "--regid=\(groupID)", "--clear-groups", "--"]
        return (.name("setpriv"), Arguments(options + [program] + arguments))
    }

    /// Makes this account the owner of a file or folder. The target of a link keeps its owner.
    package func own(_ path: String) throws(LocalPostgresError) {
        guard lchown(path, userID, groupID) == 0 else {
            throw .fileSystem(
                operation: "give to user \(name)", path: path, reason: String(cString: strerror(errno)))
        }
    }

    /// Whether this account can enter a folder. The check runs a program as this account, so access lists count too.
    func canEnter(_ folder: String) async -> Bool {
        await passes(#"[ -x "$1" ]"#, folder)
    }

    /// Whether this account can create and delete entries of a folder.
    func canWrite(to folder: String) async -> Bool {
        await passes(#"[ -x "$1" ] && [ -w "$1" ]"#, folder)
    }

    private func passes(_ test: String, _ path: String) async -> Bool {
        let command = command("/bin/sh", ["-c", test, "sh", path])
        let result = try? await run(
            command.executable, arguments: command.arguments, workingDirectory: "/", output: .discarded,
            error: .discarded)
        return result?.terminationStatus.isSuccess ?? false
    }
}
