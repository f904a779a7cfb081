/// Why a private PostgreSQL server could not be found, created, started or stopped.
package enum LocalPostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No folder holds `initdb` and `postgres`. `searched` lists the places that were tried, in order.
    case programsNotFound(searched: [String])
    /// `BROCOT_POSTGRES_BIN` names a folder without `program`.
    case programMissing(program: String, directory: String)
    /// The programs are older than PostgreSQL 14, or do not say their version.
    case unsupportedVersion(directory: String, version: String)
    /// The process runs as root and the system has neither a user `postgres` nor `nobody` to run the server.
    case noServerAccount
    /// `account`, which runs the server, cannot enter `path`.
    case unreachableDirectory(path: String, account: String)
    /// A file or folder could not be created, read or changed.
    case fileSystem(operation: String, path: String, reason: String)
    /// Another process runs the server of this directory.
    case alreadyRunning(directory: String)
    /// The server ended, or was not ready in time. `log` holds the last lines of its log.
    case startFailed(reason: String, log: String)

    package var description: String {
        switch self {
        case .programsNotFound(let searched):
            """
            PostgreSQL's server programs (initdb, postgres) were not found in \(searched.joined(separator: ", ")). \
            Install them (Debian, Ubuntu: apt-get install postgresql), or set BROCOT_POSTGRES_BIN to their folder.
            """
        case .programMissing(let program, let directory):
            "BROCOT_POSTGRES_BIN is \(directory), which has no program \(program). Set it to PostgreSQL's bin folder."
        case .unsupportedVersion(let directory, let version):
            """
            PostgreSQL 14 or newer is needed; \(directory) has: \(version). \
            Install a newer one, or set BROCOT_POSTGRES_BIN to its bin folder.
            """
        case .noServerAccount:
            """
            PostgreSQL refuses to run as root, and this system has neither a user postgres nor nobody. \
            Run this as an ordinary user.
            """
        case .unreachableDirectory(let path, let account):
            "The server runs as user \(account), who cannot enter \(path). Choose another folder."
        case .fileSystem(let operation, let path, let reason):
            "Could not \(operation) \(path): \(reason)."
        case .alreadyRunning(let directory):
            "Another process already runs the PostgreSQL server in \(directory). Stop that one first."
        case .startFailed(let reason, let log):
            "The PostgreSQL server did not start: \(reason).\(log.isEmpty ? "" : " Its log ends with:\n\(log)")"
        }
    }
}
