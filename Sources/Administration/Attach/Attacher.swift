import LibPQ
import Logging
import Ordering

/// Runs the steps of plans, with short waits for locks: a statement that waits for an exclusive lock also makes all later
/// statements of other sessions wait.
package struct Attacher: Sendable {
    let connection: Connection
    private let logger: Logger
    /// How long a statement waits for a lock behind which others would have to wait.
    private let lockTimeout: Duration
    /// How often such a statement is tried.
    private let attempts: Int
    /// How long other commands that attach or detach a table are waited for.
    private let patience: Duration

    package init(
        connection: Connection, logger: Logger, lockTimeout: Duration = .milliseconds(200), attempts: Int = 300,
        patience: Duration = .seconds(60)
    ) {
        self.patience = patience
        self.connection = connection
        self.logger = logger
        self.lockTimeout = lockTimeout
        self.attempts = attempts
    }

    /// After so many attempts, about five seconds, a notice says why nothing happens.
    private static let attemptsBeforeNotice = 10

    /// The lock of commands that attach or detach a table. The key is the first eight bytes of SHA-256 of `brocot.attach`.
    static let commandLock = AdvisoryLock(key: 9_047_377_531_611_987_727)

    private static let tryLock = commandLock.tryLockForSession
    private static let unlock = commandLock.unlockOfSession

    /// The sessions that have the lock, for people. A prepared transaction can't have it for long: it belongs to no session.
    private static let lockHolders: SQL = """
        SELECT coalesce(pg_catalog.format('Process %s', holder.pid), 'A prepared transaction')
            || coalesce(pg_catalog.format(' (%s)', nullif(pg_catalog.concat_ws(', ',
                'user ' || session.usename::text, nullif(session.application_name, '')), '')), '')
        FROM pg_catalog.pg_locks AS holder
        LEFT JOIN pg_catalog.pg_stat_activity AS session ON session.pid = holder.pid
        WHERE \(commandLock.matches("holder"))
        ORDER BY holder.pid
        """

    /// The plan to attach a table, with the condition of visibility as the registry has it.
    package func plan(_ definition: OrderDefinition) async throws(AttachError) -> AttachPlan {
        try AttachPlan(definition, on: try await describe(definition.names, listColumns: definition.listColumns))
    }

    /// The plan to detach a table; nil if it is not registered.
    package func planToDetach(
        _ names: OrderNames, droppingColumns: Bool
    ) async throws(AttachError) -> DetachPlan? {
        try await databaseErrors {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction(settings: TableReader.settings) { connection throws(PostgresError) in
                    guard let registered = try TableReader.registered(names.orderedTable, on: connection) else {
                        return nil
                    }
                    // The order may have been named as the registry does it: schema.table.rank_column.
                    let names = registered.definition.names
                    let table = try TableReader.describe(
                        names, listColumns: registered.definition.listColumns, on: connection)
                    return DetachPlan(names, on: table, dropsColumns: droppingColumns)
                }
            }
        }
    }

    /// The table as the catalog describes it.
    ///
    /// - Throws: ``AttachError/refused(_:)`` if there is no such table.
    package func describe(
        _ names: OrderNames, listColumns: [String]
    ) async throws(AttachError) -> TableDescription {
        guard let table = try await find(names, listColumns: listColumns) else {
            throw .refused(try await reasonForNoTable(names))
        }
        return table
    }

    /// The table as the catalog describes it; nil if there is no such table.
    func find(_ names: OrderNames, listColumns: [String]) async throws(AttachError) -> TableDescription? {
        try await databaseErrors {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction(settings: TableReader.settings) { connection throws(PostgresError) in
                    try TableReader.describe(names, listColumns: listColumns, on: connection)
                }
            }
        }
    }

    /// Makes sure that the name belongs to a table. Looking at anything else would run its owner's code.
    ///
    /// - Throws: ``AttachError/refused(_:)``.
    package func requireTable(_ names: OrderNames) async throws(AttachError) {
        let table = try await describe(names, listColumns: [])
        if case .other(let reason) = table.kind { throw .refused("\(names.schema).\(names.table): \(reason)") }
    }

    private func reasonForNoTable(_ names: OrderNames) async throws(AttachError) -> String {
        let hasSchema: Bool = try await databaseErrors {
            try await connection.query(
                """
                SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace AS namespace
                    WHERE namespace.nspname OPERATOR(pg_catalog.=) \(names.schema)::pg_catalog.text::pg_catalog.name)
                """
            ).single().decode(0)
        }
        let name = "\(names.schema).\(names.table)"
        let unquoted = name.replacing("\"", with: "")
        let reason = hasSchema ? "there is no table \(name)" : "there is no schema \(names.schema)"
        return unquoted == name ? reason : "\(reason). Write names without quotes: \(unquoted)"
    }

    /// Makes sure that the current role may run these steps.
    ///
    /// - Throws: ``AttachError/refused(_:)``, with the role that may.
    package func requireOwners(
        of table: TableDescription, _ names: OrderNames, for steps: [AttachStep], fills: Bool = false
    ) throws(AttachError) {
        let name = "\(names.schema).\(names.table)"
        if !table.actsAsOwner, steps.contains(where: { $0.actor == .tableOwner }) {
            throw .refused(
                """
                \(name) belongs to \(table.owner). Run this as a member of \(table.owner), or let the owner run its part of \
                brocot attach --sql. Nothing was changed.
                """)
        }
        if !table.actsAsSchemaOwner, fills || steps.contains(where: { $0.actor == .schemaOwner }) {
            throw .refused(
                """
                schema brocot belongs to \(table.schemaOwner). Run this as a member of \(table.schemaOwner) and of \(table.owner). \
                Nothing was changed.
                """)
        }
    }

    /// Makes sure that no policy hides rows from the current role: they would get no place.
    package func requireAllRows(of table: TableDescription, _ names: OrderNames) throws(AttachError) {
        guard table.hidesRows else { return }
        throw .refused(
            """
            \(names.schema).\(names.table): row-level security hides rows from this role. Attach as a role with BYPASSRLS, or run \
            ALTER TABLE … NO FORCE ROW LEVEL SECURITY first. Nothing was changed.
            """)
    }

    /// Makes sure that columns with the names of the rank columns contain nothing but ranks.
    ///
    /// - Throws: ``AttachError/refused(_:)``.
    package func requireOwnRanks(_ plan: AttachPlan) async throws(AttachError) {
        guard let statement = plan.hasForeignRanks else { return }
        let hasForeignRanks: Bool = try await databaseErrors {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction(settings: TableReader.settings) { connection throws(PostgresError) in
                    try connection.query(statement).single().decode(0)
                }
            }
        }
        guard hasForeignRanks else { return }
        let names = plan.definition.names
        throw .refused(
            """
            \(names.schema).\(names.table): its columns \(names.rank), \(names.numerator) and \(names.denominator) would be Brocot's, but some \
            of them contain other values. Choose other names with --rank, or empty these columns. Nothing was changed.
            """)
    }

    /// Runs `body` while no other command attaches or detaches a table. The lock is tried in a loop: a session that waited for
    /// the lock in the server would block CREATE INDEX CONCURRENTLY of the command that has the lock.
    package func exclusively(_ body: () async throws(AttachError) -> Void) async throws(AttachError) {
        try await lock()
        do throws(AttachError) {
            try await body()
        } catch {
            try? await unlock()
            throw error
        }
        try await unlock()
    }

    /// The settings of statements that run outside of transactions. Transactions have settings of their own.
    private static let settings =
        "SET statement_timeout = 0; SET lock_timeout = 0; SET default_transaction_read_only = off"
    /// A pooler may give the session to an application.
    private static let resetSettings =
        "RESET statement_timeout; RESET lock_timeout; RESET default_transaction_read_only"

    private func lock() async throws(AttachError) {
        try await databaseErrors {
            try await connection.execute(script: Self.settings)
            let start = ContinuousClock.now
            var isWaiting = false
            while try await !connection.query(Self.tryLock).single().decode(0, as: Bool.self) {
                let isTooLate = ContinuousClock.now - start >= patience
                if !isWaiting || isTooLate {
                    let holders: [String] = try await connection.query(Self.lockHolders).map { try $0.decode(0) }
                    guard !isTooLate else { throw AttachError.busy(holders: holders, waited: patience) }
                    logger.notice(
                        "waiting for another brocot attach or detach to end",
                        metadata: ["holder": "\(holders.joined(separator: ", "))"])
                }
                isWaiting = true
                try await Task.sleep(for: min(.milliseconds(500), patience))
            }
        }
    }

    private func unlock() async throws(AttachError) {
        let wasLocked: Bool = try await databaseErrors {
            try await connection.execute(script: Self.resetSettings)
            return try await connection.query(Self.unlock).single().decode(0)
        }
        guard wasLocked else { throw .lockInOtherSession }
    }

    /// A transaction that another session hindered by a lock, or that was the victim of a deadlock, is tried again.
    ///
    /// - Throws: ``AttachError/lockTimeout(step:)``; ``AttachError/database(_:)``; ``AttachError/cancelled``.
    package func run(_ step: AttachStep) async throws(AttachError) {
        for attempt in 1...attempts {
            do throws(PostgresError) {
                return try await connection.run { [lockTimeout] connection throws(PostgresError) in
                    try Self.run(step, lockTimeout: lockTimeout, on: connection)
                }
            } catch {
                guard step.execution != .alone, error.sqlState == .lockNotAvailable || error.isConflict else {
                    throw .database(error)
                }
            }
            if attempt == Self.attemptsBeforeNotice {
                logger.notice("could not \(step.purpose) yet: other sessions keep the table locked")
            }
            do { try await Task.sleep(for: .milliseconds(Int.random(in: 100...500))) } catch { throw .cancelled }
        }
        throw .lockTimeout(step: step.purpose)
    }

    private static func run(
        _ step: AttachStep, lockTimeout: Duration, on connection: isolated Connection
    ) throws(PostgresError) {
        guard step.execution != .alone else {
            try connection.execute(SQL(unsafeRaw: step.statements[0]))
            return
        }
        // A statement behind which writers don't have to wait may wait for any time.
        let limit =
            step.lock == .shareUpdateExclusive
            ? "0"
            : "\(lockTimeout.milliseconds)"
        let settings = TableReader.settings + [("lock_timeout", limit), ("client_min_messages", "warning")]
        try connection.transaction(settings: settings) {
            connection throws(PostgresError) in
            if step.actor == .schemaOwner { try connection.execute(script: Self.becomeSchemaOwner) }
            for statement in step.statements { try connection.execute(SQL(unsafeRaw: statement)) }
        }
    }

    /// New objects in schema `brocot` belong to the schema's owner, even if another role attaches the table. A function that runs with
    /// its owner's rights must not run with the rights of a superuser.
    static let becomeSchemaOwner = """
        DO $$
        BEGIN
            EXECUTE (SELECT format('SET LOCAL ROLE %I', pg_get_userbyid(relowner))
                FROM pg_class WHERE oid = 'brocot.ordered_tables'::regclass);
        END
        $$
        """
}

/// Turns errors of the database into ``AttachError``.
func databaseErrors<Value>(_ body: () async throws -> Value) async throws(AttachError) -> Value {
    do {
        return try await body()
    } catch let error as AttachError {
        throw error
    } catch let error as PostgresError {
        throw .database(error)
    } catch {
        throw .cancelled
    }
}
