import LibPQ
import Ordering

/// Failures of commands that read a list.
extension CommandFailure {
    private static func schemaMissing(_ connection: Connection) -> CommandFailure {
        CommandFailure(
            .migrationsPending, "\(connection.summary) has no schema brocot. Create it: brocot migrate up")
    }

    /// The error to report if reading ordered tables threw `error`: that the schema is missing, if this is the reason.
    static func reason(for error: any Error, on connection: Connection) -> any Error {
        guard case OrderingError.database(let refusal) = error, SQLState.missingSchema.contains(refusal.sqlState) else {
            return error
        }
        return schemaMissing(connection)
    }

    static func notAnOrderedTable(_ table: String) -> CommandFailure {
        CommandFailure(
            .usage,
            "\(table.printable) is not an ordered table. For their names, see SELECT name FROM brocot.ordered_tables.")
    }

    static func impossibleList(_ list: String, in table: String, because reason: String) -> CommandFailure {
        CommandFailure(.usage, "\(table.printable) can't have a list \"\(list.printable)\": \(reason).")
    }
}

extension SQLState {
    /// The server's errors for Brocot's objects before the migrations have run.
    fileprivate static let missingSchema: Set<SQLState?> = [.undefinedTable, .invalidSchemaName]
}
