/// A message of PgBouncer about its own settings and limits. These messages have the SQLSTATE 08P01 and no hint.
struct PoolerRefusal {
    private let text: String
    /// What to do about it.
    let hint: String
    /// Whether waiting may help: the pooler has no connection to a server now.
    let isTemporary: Bool

    /// nil if the error is none of these.
    init?(_ sqlState: SQLState?, _ message: String) {
        guard sqlState == .protocolViolation, let known = Self.all.first(where: { message.contains($0.text) }) else {
            return nil
        }
        self = known
    }

    private init(_ text: String, isTemporary: Bool, hint: String) {
        (self.text, self.isTemporary, self.hint) = (text, isTemporary, hint)
    }

    private static let hintWithoutServer =
        "PgBouncer answers, but can't log in to PostgreSQL. Is PostgreSQL running? PgBouncer's log has the reason."

    private static let all = [
        PoolerRefusal(
            "statement pooling mode", isTemporary: false,
            hint: "Set pool_mode to session or transaction in PgBouncer: Brocot needs transactions."),
        PoolerRefusal(
            "unsupported startup parameter", isTemporary: false,
            hint: """
                Remove the parameter from the URL and the environment (such as PGOPTIONS), or let PgBouncer ignore it with \
                ignore_startup_parameters.
                """),
        PoolerRefusal(
            "query_wait_timeout", isTemporary: true,
            hint: """
                No connection of the pool became free in time. Is the pool paused (PAUSE)? Otherwise raise default_pool_size in \
                PgBouncer: in session mode, a daemon needs one connection for each worker and two more.
                """),
        PoolerRefusal("server login has been failing", isTemporary: true, hint: hintWithoutServer),
        PoolerRefusal("pgbouncer cannot connect to server", isTemporary: true, hint: hintWithoutServer),
        PoolerRefusal(
            "no more connections allowed (max_client_conn)", isTemporary: true,
            hint: "Raise max_client_conn in PgBouncer."),
    ]
}

extension PostgresError {
    /// Whether the settings of a pooler forbid what this program does, so that waiting does not help.
    package var isForbiddenByPooler: Bool { PoolerRefusal(sqlState, message)?.isTemporary == false }
    /// Whether a pooler answers that it has no connection to a server now.
    package var isFromPoolerWithoutServer: Bool { PoolerRefusal(sqlState, message)?.isTemporary == true }
}
