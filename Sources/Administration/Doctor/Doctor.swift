import LibPQ
import Logging
import Migrations

/// Finds problems that keep Brocot from working, or from working well.
package struct Doctor: Sendable {
    let parameters: ConnectionParameters
    /// The kind of role whose rights the current role should have.
    let role: RoleKind
    /// The age from which a transaction counts as old.
    let oldTransaction: Duration
    /// A replication slot or standby that is this many transactions behind counts as a problem.
    let farBehind: Int
    /// How long decided requests shall stay in the log; nil means for ever.
    let logRetention: Duration?
    let logger: Logger

    package init(
        parameters: ConnectionParameters, role: RoleKind, oldTransaction: Duration, farBehind: Int = 1_000_000,
        logRetention: Duration? = nil, logger: Logger
    ) {
        var parameters = parameters
        parameters.answerTimeout = Self.answerTimeout
        self.parameters = parameters
        self.role = role
        self.oldTransaction = oldTransaction
        self.farBehind = farBehind
        self.logRetention = logRetention
        self.logger = logger
    }

    /// What is done with each result as soon as it is known. With hundreds of ordered tables, a check may take a minute.
    package typealias Report = @Sendable (CheckResult) -> Void

    /// Runs all checks, except those that depend on a failed one.
    package func examine(_ report: Report = { _ in }) async -> [CheckResult] {
        do throws(PostgresError) {
            let connection = try await Connection.connect(parameters, logger: logger)
            let connected = CheckResult.ok("connection", connection.summary)
            report(connected)
            let results = [connected] + (await examine(connection, report))
            await connection.close()
            return results
        } catch {
            let failure = CheckResult.failure(
                "connection", error.message, advice: Self.advice(after: error),
                error.code == .invalidParameters ? .invalidConfiguration : .cannotConnect)
            report(failure)
            return [failure]
        }
    }

    /// No check waits for long if another session has locked a table.
    static let lockTimeout = Duration.seconds(1)

    private static let statementTimeout = Duration.seconds(30)
    /// This limit is for a proxy or pooler that stops answering. A working server ends the statement earlier, by
    /// `statement_timeout`.
    private static let answerTimeout = Duration.seconds(40)

    static func advice(after error: PostgresError?) -> String {
        // The server's hints about its own limits say which setting to raise.
        if let error, let hint = error.hint, error.code != .server || error.sqlState?.classCode == "53" { return hint }
        if error?.code == .connectionFailed { return connectionAdvice }
        return error?.sqlState == .queryCanceled
            ? "If the role's statement_timeout is short: ALTER ROLE … RESET statement_timeout. Run brocot doctor again."
            : "Remove the cause of the error, and run brocot doctor again."
    }

    /// The advice after a check that took longer than ``statementTimeout``. This limit applies whatever the role's own is.
    private static let adviceAfterLimit = """
        A check may take \(statementTimeout.components.seconds) s. Run brocot doctor again when the server is less busy. If it is this check again, \
        look for a table without statistics (ANALYZE), or for a slow function of --visible.
        """
    private static let connectionAdvice = "Check the URL, and that the server accepts connections from here."

    private func examine(_ connection: Connection, _ report: Report) async -> [CheckResult] {
        let first = await results(of: [version, encoding, replica], on: connection, report)
        // A standby sends no notifications, and does not know which daemons are connected to the primary.
        let isPrimary = first.last?.level != .fail
        let delivery: [Check] = isPrimary ? [pooler, self.delivery] : [pooler]
        let others: [Check] = [sessionTimeout, lockTable, tableLocks, schema]
        let ofServer = first + (await results(of: delivery + others, on: connection, report))
        let rest = (ofServer.last?.level == .ok ? checksOfSchema(ofPrimary: isPrimary) : []) + [commits, deadRows]
        return ofServer + (await results(of: rest, on: connection, report))
    }

    /// Runs the checks up to the loss of the connection. Each later check would only repeat that it is lost.
    private func results(
        of checks: [Check], on connection: Connection, _ report: Report
    ) async -> [CheckResult] {
        var results: [CheckResult] = []
        for check in checks {
            guard await !connection.isLost else { break }
            let result = await check(connection)
            report(result)
            results.append(result)
        }
        return results
    }

    private typealias Check = (Connection) async -> CheckResult

    /// The checks for the role. Readers and movers have no rights on the queue, and only a daemon must see every row.
    private func checksOfSchema(ofPrimary isPrimary: Bool) -> [Check] {
        let queue: [Check] = isPrimary ? [heldLists, pauses, daemons, waiting] : [heldLists, pauses, waiting]
        switch role {
        case .reader, .mover: return [privileges, tables]
        case .requester:
            let checks: [Check] = [privileges, grants, tables, vacuum]
            return checks + queue
        case .daemon:
            let checks: [Check] = [
                privileges, grants, tables, orders, keys, foreignKeys, duplicates, ranks, requestIDs, rowSecurity,
                superuser, addedCode, codeRights, disabledTriggers, vacuum, logPruning,
            ]
            return checks + queue
        }
    }

    /// Runs the queries of one check in a transaction. If the server refuses one, the other checks still run. If a
    /// right is missing, the check fails like the check of rights.
    func attempt(
        _ check: String, _ connection: Connection,
        _ body: @Sendable (isolated Connection) throws(PostgresError) -> CheckResult
    ) async -> CheckResult {
        do throws(PostgresError) {
            return try await inTransaction(connection, body)
        } catch {
            return await notChecked(check, error, "could not be checked: \(error.message)", on: connection)
        }
    }

    /// Checks each order: `find` says what is wrong with one, and `conclude` makes the result of what was found for all. If the server refuses
    /// a query, because another session has locked a table for instance, the other orders are still checked.
    func attemptEach<Finding>(
        _ check: String, _ connection: Connection,
        orders: @Sendable (isolated Connection) throws(PostgresError) -> [RegisteredOrder],
        find: @Sendable (RegisteredOrder, isolated Connection) throws(PostgresError) -> [Finding],
        conclude: @Sendable ([Finding], isolated Connection) throws(PostgresError) -> CheckResult
    ) async -> CheckResult {
        do throws(PostgresError) {
            let (result, unchecked) = try await inTransaction(connection) { connection throws(PostgresError) in
                var (findings, unchecked): ([Finding], [UncheckedOrder]) = ([], [])
                for order in try orders(connection) {
                    do throws(PostgresError) {
                        findings += try connection.savepoint("order") { connection throws(PostgresError) in
                            try find(order, connection)
                        }
                    } catch {
                        guard !error.isConnectionLost else { throw error }
                        unchecked.append(UncheckedOrder(order: order.name, error: error))
                    }
                }
                return (try conclude(findings, connection), unchecked)
            }
            // A missing right takes precedence: it is a fault, and a locked table is not.
            let gravest = unchecked.first { $0.error.sqlState == .insufficientPrivilege } ?? unchecked.first
            guard let gravest else { return result }
            let message = unchecked.map { "\($0.order) could not be checked: \($0.error.message)" }.joined(
                separator: "; ")
            return result.level == .ok
                ? await notChecked(check, gravest.error, message, on: connection) : result.adding(message)
        } catch {
            return await notChecked(check, error, "could not be checked: \(error.message)", on: connection)
        }
    }

    /// An order that could not be checked.
    private struct UncheckedOrder: Sendable {
        let order: String
        let error: PostgresError
    }

    /// Runs the queries of one check in a transaction that reads one snapshot, and waits for no lock for long.
    private func inTransaction<Value: Sendable>(
        _ connection: Connection, _ body: @Sendable (isolated Connection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        try await connection.inTransaction(
            .repeatableReadOnly,
            settings: [
                ("lock_timeout", "\(Self.lockTimeout.milliseconds)"),
                ("statement_timeout", "\(Self.statementTimeout.milliseconds)"),
                TransactionSettings.limitedPauses, TransactionSettings.printedNames,
                TransactionSettings.withoutCompiling,
            ], body)
    }

    /// The result of a check that the server refused.
    private func notChecked(
        _ check: String, _ error: PostgresError, _ message: String, on connection: Connection
    ) async -> CheckResult {
        guard !error.isConnectionLost else { return Self.connectionLost(check, error) }
        guard error.sqlState == .insufficientPrivilege else {
            return .warning(
                check, message,
                advice: error.sqlState == .queryCanceled ? Self.adviceAfterLimit : Self.advice(after: error))
        }
        if let advice = await adviceBesideDaemon(on: connection) {
            return .warning(check, message, advice: advice)
        }
        return .failure(check, message, advice: await grantAdvice(on: connection))
    }

    /// Who can run a check, if the current role owns schema `brocot` but need not have the rights of a daemon, because another role has them;
    /// otherwise nil.
    private func adviceBesideDaemon(on connection: Connection) async -> String? {
        guard role == .daemon,
            let daemons = try? await connection.inTransaction(
                .repeatableReadOnly,
                { connection throws(PostgresError) in
                    try AccessGrants.daemonsBesideOwner(on: connection)
                }), !daemons.isEmpty
        else { return nil }
        return "Run brocot doctor as the daemon's role: \(Self.shortened(daemons))."
    }

    /// What to do if the server says that the current role lacks a right.
    func grantAdvice(on connection: Connection) async -> String {
        let currentRole = try? await connection.run { connection throws(PostgresError) in
            try AccessGrants.currentRole(on: connection)
        }
        return "As the owner of schema brocot: \(role.grantCommand(to: currentRole ?? "ROLE"))"
    }

    static func connectionLost(_ check: String, _ error: PostgresError) -> CheckResult {
        .failure(
            check, "the connection was lost: \(error.message)", advice: error.hint ?? connectionAdvice, .cannotConnect)
    }

    // MARK: The server

    /// The oldest major version that Brocot supports.
    private static let oldestVersion = 14

    private func version(_ connection: Connection) -> CheckResult {
        // libpq gives version 14.2 as 140002.
        let major = connection.serverVersion / 10_000
        return major >= Self.oldestVersion
            ? .ok("version", "PostgreSQL \(major)")
            : .failure(
                "version", "PostgreSQL \(major) is too old", advice: "Update it to \(Self.oldestVersion) or newer.")
    }

    private func encoding(_ connection: Connection) async -> CheckResult {
        let encoding = await connection.parameterStatus("server_encoding") ?? "unknown"
        guard let fault = DatabaseEncoding.fault(of: encoding) else { return .ok("encoding", encoding) }
        return .failure("encoding", "\(encoding): \(fault)", advice: DatabaseEncoding.advice)
    }

    private func replica(_ connection: Connection) async -> CheckResult {
        await attempt("replica", connection) { connection throws(PostgresError) in
            guard try connection.isStandby() else { return .ok("replica", "this is a primary") }
            return .failure(
                "replica", "this is a standby, which can't be written to",
                advice: "Connect to the primary; with several hosts, add target_session_attrs=read-write.",
                .cannotConnect)
        }
    }

    private func pooler(_ connection: Connection) async -> CheckResult {
        await attempt("pooler", connection) { connection throws(PostgresError) in
            try connection.isDirect()
                ? .ok("pooler", "none: this connection reaches the server itself")
                : .ok("pooler", "there is a pooler; the check notify shows whether notifications arrive")
        }
    }

    /// A notification is sent by COMMIT, under a lock of the whole server.
    private func adviceAfterFailedNotification(_ error: PostgresError) -> String {
        guard error.code == .connectionFailed, error.connectionFailure == nil else { return Self.advice(after: error) }
        return """
            Either the server does not accept a second connection from here. Or a COMMIT that notifies waits for a synchronous standby: then all \
            others wait for it, also INSERTs of requests. Run brocot doctor as a superuser: see commits.
            """
    }

    private func delivery(_ connection: Connection) async -> CheckResult {
        let channel = "brocot_doctor_\(UInt32.random(in: 0 ... .max))"
        do throws(PostgresError) {
            let percent: Int = try await connection.query(DoctorStatements.usedNotificationQueue).single().decode(0)
            if let warning = Self.warning(ofNotificationQueue: percent) { return warning }
            try await connection.execute(DoctorStatements.listen(channel))
            let isReceived = try await connection.receivesNotification(on: channel, from: parameters)
            try await connection.execute(DoctorStatements.unlisten(channel))
            guard !isReceived else { return .ok("notify", "notifications arrive") }
        } catch {
            // The session must not keep listening, because a pooler may give it to another client.
            _ = try? await connection.execute(DoctorStatements.unlisten(channel))
            guard await !connection.isLost else { return Self.connectionLost("notify", error) }
            return .warning(
                "notify", "could not be checked: \(error.message)", advice: adviceAfterFailedNotification(error))
        }
        return .warning(
            "notify", "notifications don't arrive, for example because of a pooler in transaction mode",
            advice:
                "Requests are still applied, but up to 1.5 s later. Connect the daemon directly, or in session mode.")
    }
}
