import LibPQ
import Ordering

/// Why a list can't be looked at.
extension CommandFailure {
    private static func schemaMissing(_ connection: Connection) -> CommandFailure {
        CommandFailure(
            .migrationsPending, "\(connection.summary) has no schema brocot. Create it: brocot migrate up")
    }

    /// What to say of an error that reading ordered tables threw: that the schema is missing, where that is why.
    static func reason(for error: any Error, on connection: Connection) -> any Error {
        guard case OrderingError.database(let refusal) = error, SQLState.missingSchema.contains(refusal.sqlState) else {
            return error
        }
        return schemaMissing(connection)
    }

    static func notAnOrderedTable(_ table: String) -> CommandFailure {
        CommandFailure(
            .usage, "\(table.printable) is not an ordered table. See SELECT name FROM brocot.ordered_tables.")
    }

    static func impossibleList(_ list: String, in table: String, because reason: String) -> CommandFailure {
        CommandFailure(.usage, "There can be no list \"\(list.printable)\" in \(table.printable): \(reason).")
    }
}

extension SQLState {
    /// What the server says of Brocot's objects where the migrations have not run.
    fileprivate static let missingSchema: Set<SQLState?> = [.undefinedTable, .invalidSchemaName]
}
