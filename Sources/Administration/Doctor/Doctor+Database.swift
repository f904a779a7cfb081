import LibPQ

/// The checks that need Brocot's schema, and the checks of activity on the whole server.
extension Doctor {
    func privileges(_ connection: Connection) async -> CheckResult {
        await attempt("privileges", connection) { [role] connection throws(PostgresError) in
            let missing = try AccessGrants.missing(role, for: nil, on: connection)
            guard !missing.isEmpty else { return .ok("privileges", "this role has all rights of a \(role.rawValue)") }
            let daemons = role == .daemon ? try AccessGrants.daemonsBesideOwner(on: connection) : []
            guard daemons.isEmpty else {
                return .ok(
                    "privileges",
                    "this role owns schema brocot, and another role has all rights of a daemon: \(Self.shortened(daemons))"
                )
            }
            return .failure(
                "privileges", "a \(role.rawValue) also needs \(Self.shortened(missing))", details: missing,
                advice: """
                    As the owner: \(role.grantCommand(to: try AccessGrants.currentRole(on: connection))). \
                    Or check another role with --role.
                    """)
        }
    }

    /// Finds roles that lack rights, because rights were given by hand or a table was registered later.
    func grants(_ connection: Connection) async -> CheckResult {
        await attempt("grants", connection) { connection throws(PostgresError) in
            let (incomplete, hasUncheckedRoles) = try AccessGrants.incomplete(on: connection)
            guard !incomplete.isEmpty else {
                return .ok(
                    "grants",
                    hasUncheckedRoles
                        ? "the first \(AccessGrants.mostRolesChecked) roles with rights have all rights of their kinds; the others were not checked"
                        : "every role with rights has all rights of its kind")
            }
            return .warning(
                "grants",
                Self.shortened(
                    incomplete.map { "\($0.kind.rawValue) \($0.role) lacks \(Self.shortened($0.missing))" },
                    separator: "; "),
                details: incomplete.flatMap { found in
                    found.missing.map { "\(found.kind.rawValue) \(found.role): \($0)" }
                },
                advice: "As the tables' owner: "
                    + incomplete.map { $0.kind.grantCommand(to: $0.role) }.joined(separator: "; "))
        }
    }

    /// A longer message is not read to its end. The details in JSON have all items.
    private static let mostItems = 5

    /// The first items, and how many more there are.
    static func shortened(_ items: [String], separator: String = ", ") -> String {
        let more = items.count > mostItems ? " (\(items.count - mostItems) more)" : ""
        return items.prefix(mostItems).joined(separator: separator) + more
    }

    func rowSecurity(_ connection: Connection) async -> CheckResult {
        await attempt("policies", connection) { connection throws(PostgresError) in
            let hidden = try RowSecurity.hidden(.all, on: connection)
            let daemons = hidden.isEmpty ? [] : try AccessGrants.daemonsBesideOwner(on: connection)
            guard hidden.isEmpty || !daemons.isEmpty else {
                return .failure("policies", RowSecurity.description(of: hidden), advice: RowSecurity.advice)
            }
            var findings: [String] = []
            for role in try AccessGrants.otherDaemons(on: connection) {
                let hidden = try RowSecurity.hidden(.all, from: role, on: connection)
                if !hidden.isEmpty { findings.append(RowSecurity.description(of: hidden, from: role)) }
            }
            guard findings.isEmpty else {
                return .warning("policies", findings.joined(separator: "; "), advice: RowSecurity.advice)
            }
            return .ok("policies", "no policy applies to \(daemons.isEmpty ? "this role" : Self.shortened(daemons))")
        }
    }

    /// The queue should be vacuumed after 2,000 dead rows. More dead rows than this mean that it isn't.
    private static let tooManyDeadRows = 200_000

    func vacuum(_ connection: Connection) async -> CheckResult {
        await attempt("autovacuum", connection) { connection throws(PostgresError) in
            let settings = try connection.query(DoctorStatements.vacuumSettings).map {
                row throws(PostgresError) in try row.decode(0, as: String.self)
            }
            guard settings.isEmpty else {
                return .failure(
                    "autovacuum", "off on this server: \(settings.joined(separator: ", "))",
                    advice: """
                        Set autovacuum and track_counts to on in the server's configuration, and reload it: SELECT pg_reload_conf(). \
                        Otherwise the queue grows by a dead row with each request, and gets slow.
                        """)
            }
            var (off, withDeadRows): ([String], [String]) = ([], [])
            for row in try connection.query(DoctorStatements.vacuumedTables) {
                let (name, isEnabled, dead): (String, Bool, Int) = (
                    try row.decode(0), try row.decode(1), try row.decode(2)
                )
                if !isEnabled { off.append(name) }
                if name == "move_requests", dead > Self.tooManyDeadRows {
                    withDeadRows.append("\(name) has \(dead) dead rows")
                }
            }
            guard off.isEmpty else {
                return .failure(
                    "autovacuum", "off for \(off.joined(separator: ", "))",
                    advice: "ALTER TABLE brocot.… RESET (autovacuum_enabled).")
            }
            guard withDeadRows.isEmpty else {
                return .warning(
                    "autovacuum", withDeadRows.joined(separator: ", "),
                    advice:
                        "See the check dead rows below. If it is ok, autovacuum is too slow: raise autovacuum_max_workers."
                )
            }
            return .ok("autovacuum", "on for every table of the queue")
        }
    }

    func heldLists(_ connection: Connection) async -> CheckResult {
        await attempt("held lists", connection) { connection throws(PostgresError) in
            let count = try connection.query(DoctorStatements.heldLists).single().decode(0, as: Int.self)
            guard count > 0 else { return .ok("held lists", "none") }
            return .failure(
                "held lists", "\(count) wait for a person",
                advice:
                    "See brocot status. Remove the cause, then: brocot release LIST --table TABLE, or --all."
            )
        }
    }

    func pauses(_ connection: Connection) async -> CheckResult {
        await attempt("pauses", connection) { connection throws(PostgresError) in
            guard let first = try QueueStatus.Pause.all(on: connection).first else {
                return .ok("pauses", "nothing is paused")
            }
            let count = try connection.query(DoctorStatements.pauses).single().decode(0, as: Int.self)
            let rest = count > 1 ? ", and \(count - 1) more" : ""
            return .warning(
                "pauses",
                "paused since \(first.pausedAt): \(first.list.map { "list \($0) of " } ?? "")\(first.table)\(rest)",
                advice: "See brocot status. To continue: brocot resume [TABLE [LIST]].")
        }
    }

    /// The age that no request reaches while a daemon runs.
    private static let longWait = Duration.seconds(60)

    func waiting(_ connection: Connection) async -> CheckResult {
        await attempt("queue", connection) { connection throws(PostgresError) in
            let row = try connection.query(DoctorStatements.waiting).single()
            let (pending, age) = (try row.decode(0, as: Int.self), try row.decode(1, as: Int?.self) ?? 0)
            guard .seconds(age) > Self.longWait else { return .ok("queue", "\(pending) requests pending") }
            return .warning(
                "queue", "\(pending) requests pending, the oldest for \(age) s",
                advice: try LiveDaemon.all(on: connection).isEmpty
                    ? """
                    If no daemon runs, start one: brocot daemon. Otherwise its log says what is missing; brocot status shows which lists \
                    wait.
                    """
                    : "A daemon is connected. See its log, and brocot status for the lists that wait.")
        }
    }

    func daemons(_ connection: Connection) async -> CheckResult {
        await attempt("daemons", connection) { connection throws(PostgresError) in
            let daemons = try LiveDaemon.all(on: connection)
            guard daemons.isEmpty else { return .ok("daemons", LiveDaemon.summary(of: daemons)) }
            let pending = try connection.query(DoctorStatements.waiting).single().decode(0, as: Int.self)
            guard pending > 0 else { return .ok("daemons", "none is connected, and no request waits") }
            return .warning(
                "daemons", "none is connected, and \(pending) requests wait",
                advice:
                    "Start one: brocot daemon. Behind a pooler in transaction mode, a daemon that runs may not be seen."
            )
        }
    }

    func commits(_ connection: Connection) async -> CheckResult {
        await attempt("commits", connection) { connection throws(PostgresError) in
            let statement = DoctorStatements.waitsForStandby
            let waits = try connection.query(statement).map { row throws(PostgresError) in
                "\(try row.decode(0, as: String.self)) for \(try row.decode(1, as: Int.self)) s"
            }
            guard !waits.isEmpty else { return .ok("commits", "no COMMIT is seen to wait for a synchronous standby") }
            return .failure(
                "commits", "COMMITs wait for a synchronous standby: \(Self.shortened(waits, separator: "; "))",
                details: waits,
                advice: """
                    Start the standby, or change synchronous_standby_names and reload the configuration: SELECT pg_reload_conf(). Don't end the \
                    sessions: what they committed would become visible, although no standby has it.
                    """)
        }
    }

    func deadRows(_ connection: Connection) async -> CheckResult {
        await attempt("dead rows", connection) { [oldTransaction, farBehind] connection throws(PostgresError) in
            let holders = try connection.query(
                DoctorStatements.horizonHolders(olderThan: oldTransaction, transactions: farBehind)
            ).map { row throws(PostgresError) in
                let (kind, name, age): (String, String, Int?) = (
                    try row.decode(0), try row.decode(1), try row.decode(2)
                )
                return "\(kind) \(name)\(age.map { " for \($0) s" } ?? "")"
            }
            guard !holders.isEmpty else {
                let seesAll = try connection.query(DoctorStatements.seesAllSessions).single().decode(0, as: Bool.self)
                return .ok(
                    "dead rows",
                    seesAll
                        ? "nothing keeps vacuum from removing dead rows"
                        : "nothing visible keeps vacuum from removing dead rows; a role in pg_monitor sees all sessions"
                )
            }
            return .warning(
                "dead rows", "dead rows can't be removed because of \(holders.joined(separator: "; "))",
                advice: """
                    End the session (pg_terminate_backend), the prepared transaction (ROLLBACK PREPARED), the unused slot \
                    (pg_drop_replication_slot) or the standby's long query.
                    """)
        }
    }
}
