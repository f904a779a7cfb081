/// The kinds of faults.
package enum FaultKind: String, Sendable, CaseIterable {
    /// `kill -9` of a daemon, which is started again.
    case daemonKilled
    /// SIGSTOP of a daemon for longer than the server waits for it, then SIGCONT.
    case daemonStopped
    /// `pg_terminate_backend` of a daemon's session.
    case sessionTerminated
    /// A daemon's connection is closed on both sides.
    case connectionCut
    /// The proxy silently stops forwarding data of a daemon's connection.
    case connectionFrozen
    /// A daemon's COMMIT is done, and the connection is cut before the answer arrives.
    case commitAnswerLost
    /// An enqueuer's connection is cut, before its statement or before the answer.
    case enqueuerCut
    /// `pg_ctl restart -m immediate`.
    case serverCrashed
    /// `kill -9` of a session's server process. The server then ends all other sessions.
    case serverProcessKilled
    /// A write to the write-ahead log fails: the server panics, and recovers.
    case writeAheadLogFailed
    /// No file can grow any more, for a while.
    case diskFull
    /// A session keeps many lists locked.
    case listsLocked
    /// A session keeps a table locked for longer than `lock_timeout`.
    case tableLocked
    /// The primary crashes, and its synchronous standby takes over.
    case standbyPromoted
    /// `kill -9` of PgBouncer, which is started again.
    case poolerRestarted

    /// Faults of one lane happen one after the other. Lanes are independent of each other.
    enum Lane: Hashable, Sendable {
        case daemons, enqueuers, servers
    }

    var lane: Lane {
        switch self {
        case .daemonKilled, .daemonStopped, .sessionTerminated, .connectionCut, .connectionFrozen, .commitAnswerLost:
            .daemons
        case .enqueuerCut: .enqueuers
        case .serverCrashed, .serverProcessKilled, .writeAheadLogFailed, .diskFull, .listsLocked, .tableLocked,
            .standbyPromoted, .poolerRestarted:
            .servers
        }
    }

    /// How often this kind happens, relative to the other kinds.
    var weight: Int {
        switch self {
        case .daemonKilled, .sessionTerminated, .connectionCut, .commitAnswerLost: 20
        case .daemonStopped, .connectionFrozen, .enqueuerCut: 10
        case .serverCrashed, .poolerRestarted: 6
        case .serverProcessKilled, .writeAheadLogFailed, .diskFull, .listsLocked, .tableLocked: 4
        case .standbyPromoted: 3
        }
    }
}
