import Administration
import Daemon
import LibPQ
import LocalPostgres
import Migrations
import Ordering
import Supervision

/// The exit statuses of `brocot`. The numbers are part of its interface.
enum ExitStatus: Int32, Sendable {
    case done = 0
    /// The command failed. The failed part changed nothing; the message says what stays, such as earlier migrations.
    case failed = 1
    /// Wrong usage or configuration.
    case usage = 2
    /// The schema is missing, or migrations are pending.
    case migrationsPending = 3
    /// Objects that the migrations created were changed by hand.
    case drift = 4
    /// A lock was not available in time.
    case lockTimeout = 5
    /// No server, no such database, wrong password, or only a standby.
    case cannotConnect = 6
    /// Ranks or the queue need repair, a superuser would run code of another role, or only requests that wait are left.
    case needsRepair = 7
    /// The database's schema is newer than this program.
    case databaseNewer = 8

    /// The status for an error. Nil for errors of the argument parser.
    init?(of error: any Error) {
        switch error {
        case let error as CommandFailure: self = error.status
        case let error as LoggedFailure: self = error.status
        case let error as PostgresError: self = Self.status(of: error)
        case let error as MigrationError: self = Self.status(of: error)
        case let error as OrderingError: self = Self.status(of: error)
        case let error as AttachError: self = Self.status(of: error)
        case let error as LocalPostgresError: self = Self.status(of: error)
        case is OnlyWaitingWorkIsLeft: self = .needsRepair
        case is ProbeServerError, is QueueRefused: self = .failed
        default: return nil
        }
    }

    private static func status(of error: PostgresError) -> ExitStatus {
        switch (error.code, error.sqlState) {
        case (.invalidParameters, _): .usage
        case (.connectionFailed, _): .cannotConnect
        case _ where error.isFromStandby || error.isFromPoolerWithoutServer: .cannotConnect
        case (_, SQLState.lockNotAvailable): .lockTimeout
        default: .failed
        }
    }

    private static func status(of error: MigrationError) -> ExitStatus {
        switch error {
        case .noDirectory, .unreadable, .notUTF8, .noMigrations, .invalidFileName, .noStatement, .duplicateVersion,
            .missingVersion, .unsuitable:
            .usage
        case .refused(_, let error), .notCommitted(_, let error), .database(let error): status(of: error)
        case .drifted: .drift
        case .newer: .databaseNewer
        case .lockTimeout, .locked: .lockTimeout
        case .standby: .cannotConnect
        case .foreignObjects, .objectsOfOthers, .foreignTables, .unsupportedEncoding: .needsRepair
        case .cancelled: .failed
        }
    }

    private static func status(of error: OrderingError) -> ExitStatus {
        switch error {
        case .database(let error), .unreadableTable(let error): status(of: error)
        case .invalidStoredRank, .ranksOutOfOrder, .missingColumn, .triggerOfOtherOrder, .untrustedOwner: .needsRepair
        case .unsupportedKeyType: .usage
        case .rowsChangedUnderLock, .unexpectedRowCount, .rowsLocked, .readingDoesNotSettle, .tookTooLong: .failed
        }
    }

    private static func status(of error: AttachError) -> ExitStatus {
        switch error {
        case .refused: .usage
        case .lockTimeout, .busy, .listLocked: .lockTimeout
        case .database(let error), .stepFailed(_, let error), .unfinished(_, _, let error),
            .rowRefused(_, _, let error):
            status(of: error)
        case .unfinishedRepair(_, let error): status(of: error)
        case .equalRanks, .lockInOtherSession, .rowNotWritten, .stepsLeft, .cancelled: .failed
        }
    }

    private static func status(of error: LocalPostgresError) -> ExitStatus {
        switch error {
        case .programsNotFound, .programMissing, .unsupportedVersion, .noServerAccount, .unreachableDirectory: .usage
        case .fileSystem, .alreadyRunning, .startFailed: .failed
        }
    }
}

/// A failure whose reason was already logged.
struct LoggedFailure: Error {
    let status: ExitStatus
}

extension PostgresError {
    /// Whether the server is a standby, where nothing can be written, and not only read-only by a setting of the role or the session. The
    /// function is that of the server that reports it for other statements than BEGIN.
    fileprivate var isFromStandby: Bool {
        isRefusedWriteOnStandby
            || sqlState == .readOnlyTransaction && sourceFunction == "PreventCommandDuringRecovery"
    }
}
