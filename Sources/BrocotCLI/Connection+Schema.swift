import Administration
import LibPQ
import Migrations

extension Connection {
    /// Makes sure that the server is not a standby.
    ///
    /// - Throws: ``CommandFailure`` `.cannotConnect`, with what to do; an error of the server or the connection.
    nonisolated func requireWritable() async throws {
        let isStandby = try await run { connection throws(PostgresError) in try connection.isStandby() }
        guard !isStandby else {
            throw CommandFailure(
                .cannotConnect,
                "\(summary) is a standby, which can't be written to. Connect to the primary; with several hosts, "
                    + "add target_session_attrs=read-write")
        }
    }

    /// Runs a query of Brocot's own tables in a transaction that waits only for some seconds if one of them is locked.
    nonisolated func reading<Value: Sendable>(
        _ body: @escaping @Sendable (isolated Connection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        try await inTransaction(.repeatableReadOnly, settings: TransactionSettings.ofReading, body)
    }

    /// The migrator for commands that only read the schema.
    nonisolated var migratorForReading: Migrator {
        Migrator(connection: self, lockTimeout: TransactionSettings.lockTimeoutOfReading)
    }

    /// Makes sure that no policy hides rows of Brocot's own tables from the current role.
    ///
    /// - Throws: ``CommandFailure`` `.needsRepair`, with what to do.
    nonisolated func requireAllRows() async throws {
        let hidden = try await reading { connection throws(PostgresError) in
            try RowSecurity.hidden(.builtIn, on: connection)
        }
        guard !hidden.isEmpty else { return }
        throw CommandFailure(.needsRepair, "\(RowSecurity.description(of: hidden)). \(RowSecurity.advice)")
    }

    /// The names for which no ordered table is registered.
    nonisolated func unregistered(_ tables: [String]) async throws -> [String] {
        guard !tables.isEmpty else { return [] }
        return try await reading { connection throws(PostgresError) in
            try RegisteredOrder.unregistered(tables, on: connection)
        }
    }

    /// Makes sure that an ordered table has this name, or had it when its lists were held or paused.
    ///
    /// - Throws: ``CommandFailure`` `.usage`, with where the names are, and `advice`.
    nonisolated func requireOrderedTable(_ name: String, advice: String? = nil) async throws {
        let isKnown = try await reading { connection throws(PostgresError) in
            try RegisteredOrder.isKnown(name, on: connection)
        }
        guard isKnown else { throw CommandFailure.notAnOrderedTable(name, advice: advice) }
    }

    /// The same as ``requireSchema()``, with only one small query if the schema is right.
    nonisolated func requireSchemaStill() async throws {
        if try await !migratorForReading.isAtLatestVersion() { try await requireSchema() }
    }

    /// The same as ``requireSchema()`` for a command that writes to the schema's tables: a superuser runs no code of other roles by that.
    nonisolated func requireSchemaForWriting() async throws {
        try await requireSchema()
        try await requireTrusted(.ofBrocot)
    }

    /// Makes sure that the database has the version of the schema that this program needs.
    ///
    /// - Throws: ``CommandFailure`` `.migrationsPending` or `.databaseNewer`, with what to do.
    nonisolated func requireSchema() async throws {
        let state: SchemaState
        do {
            state = try await migratorForReading.versionState()
        } catch MigrationError.cancelled {
            throw CommandFailure(.failed, "Interrupted. Nothing was changed.")
        }
        switch state {
        case .missing: throw CommandFailure.schemaMissing(self)
        case .behind:
            throw CommandFailure(
                .migrationsPending, "\(summary) has an older schema brocot. Update it: brocot migrate up")
        case .newer:
            throw CommandFailure(
                .databaseNewer, "The schema brocot of \(summary) is newer than this program. Update the program")
        case .current, .drifted:
            break
        }
    }
}
