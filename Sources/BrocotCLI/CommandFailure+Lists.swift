import LibPQ

/// Why a list can't be looked at.
extension CommandFailure {
    static func schemaMissing(_ connection: Connection) -> CommandFailure {
        CommandFailure(
            .migrationsPending, "\(connection.summary) has no schema brocot. Create it: brocot migrate up")
    }

    static func notAnOrderedTable(_ table: String) -> CommandFailure {
        CommandFailure(.usage, "\(table) is not an ordered table. See SELECT name FROM brocot.ordered_tables.")
    }

    static func impossibleList(_ list: String, in table: String, because reason: String) -> CommandFailure {
        CommandFailure(.usage, "There can be no list \"\(list)\" in \(table): \(reason).")
    }
}

extension SQLState {
    /// What the server says of Brocot's objects where the migrations have not run.
    static let missingSchema: Set<SQLState> = [.undefinedTable, .invalidSchemaName]
}
