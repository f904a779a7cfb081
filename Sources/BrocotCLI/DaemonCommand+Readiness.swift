import Daemon
import LibPQ
import Logging
import Migrations

/// What a daemon requires of the server and the schema, at its start and later.
extension DaemonCommand {
    static func readinessCheck(
        _ requireSchema: @escaping @Sendable (Connection) async throws -> Void
    ) -> DaemonConfiguration.ReadinessCheck {
        { connection in
            do {
                try await connection.requireWritable()
                try await requireSchema(connection)
                return nil
            } catch let failure as CommandFailure {
                return failure.description
            } catch {
                // The server refused a query, for example because a right was revoked or a table is locked. The
                // listener handles a lost connection.
                let cause = Connection.serverError(in: error)
                guard error is MigrationError || cause?.code == .server, cause?.isConnectionLost != true else {
                    throw error
                }
                return "\(error)"
            }
        }
    }

    /// Waits for a server that can be written to, with a schema that this program knows. The server may go away in the meantime. `health`
    /// gets the reason of each failure.
    static func waitForSchema(
        _ parameters: ConnectionParameters, naming tables: [String], atMost limit: Duration, health: DaemonHealth,
        logger: Logger
    ) async throws {
        let deadline = ContinuousClock.now + limit
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(2))
        var loggedErrors: Set<String> = []
        while true {
            do {
                let first = try await Connection.connect(parameters, logger: logger)
                return try await checkSchema(on: first, naming: tables, logger: logger)
            } catch {
                guard let cause = Connection.serverError(in: error), cause.isTemporary, .now < deadline else {
                    throw error
                }
                let message: Logger.Message =
                    switch (cause.code, cause.sqlState) {
                    case (.connectionFailed, _): "waiting for the server"
                    case (_, .lockNotAvailable?): "a table is locked; trying again. See table locks of brocot doctor"
                    default: "lost the connection; trying again"
                    }
                health.note(reasonNotStarted: "\(error)")
                if loggedErrors.insert("\(error)").inserted {
                    logger.info(message, metadata: ["server": "\(parameters.summary)", "error": "\(error)"])
                }
            }
            // The last pause is shortened, so that the last attempt is at the deadline.
            try await Task.sleep(for: min(backoff.pause(), deadline - .now))
        }
    }

    private static func checkSchema(on first: Connection, naming tables: [String], logger: Logger) async throws {
        try await first.requireWritable()
        try await first.advisingGrant(.daemon) {
            try await first.requireSchemaForWriting()
            try await first.requireTrusted(.all)
        }
        // If the server goes away now, only this warning is lost.
        for table in (try? await first.unregistered(tables)) ?? [] {
            logger.warning("--on-poison names a table that is not registered", metadata: ["table": "\(table)"])
        }
        do {
            try await first.requireAllRows()
        } catch let failure as CommandFailure {
            // The administrator may give the right while the daemon runs.
            logger.error("\(failure)")
        }
        logger.info("connected", metadata: ["database": "\(first.summary)"])
        await first.close()
    }
}

extension PostgresError {
    /// Whether waiting may help: the server went away, is starting, or can't be reached, or a table is locked. Also while all hosts are standbys:
    /// the URL asks for a primary then, and one of the hosts may be promoted.
    fileprivate var isTemporary: Bool {
        sqlState == .lockNotAvailable || connectionFailure == .standby
            || isConnectionLost && !isForbiddenByPooler
                && (code != .connectionFailed || connectionFailure?.isTemporary == true)
    }
}
