import Administration
import LibPQ
import Ordering

/// The failure of a command, with a message for people.
struct CommandFailure: Error, CustomStringConvertible {
    let status: ExitStatus
    let description: String

    /// A message about wrong usage may repeat an argument or a setting, so secrets in it are masked.
    init(_ status: ExitStatus, _ description: String) {
        self.status = status
        self.description = status == .usage ? Secrets.masked(description) : description
    }
}

extension CommandFailure {
    static func schemaMissing(_ connection: Connection) -> CommandFailure {
        CommandFailure(
            .migrationsPending,
            """
            \(connection.summary) has no schema brocot, or its history brocot.schema_migrations is empty. Run brocot migrate up: \
            it creates the schema, or says what to do
            """)
    }

    /// The error to report if reading ordered tables threw `error`: that the schema is missing, if this is the reason.
    static func reason(for error: any Error, on connection: Connection) -> any Error {
        guard case OrderingError.database(let serverError) = error,
            SQLState.missingSchema.contains(serverError.sqlState)
        else {
            return error
        }
        return schemaMissing(connection)
    }

    static func notAnOrderedTable(_ table: String, advice: String? = nil) -> CommandFailure {
        CommandFailure(
            .usage,
            "\(table.printable) is not an ordered table. To list the ordered tables: SELECT name FROM brocot.ordered_tables."
                + (advice.map { " \($0)" } ?? ""))
    }

    /// What to do about a table that is not registered and has rank columns.
    static let adviceOnRankColumns = """
        The table has rank columns: brocot attach was interrupted early, or the table was detached before. To give the table its order, run the same \
        brocot attach again. To drop the columns, run brocot detach --drop-columns after that.
        """

    /// The failure to report if the server refused a call of one of Brocot's functions: its message, without the functions'
    /// names. Nil for other errors.
    static func ofFunction(_ error: any Error) -> CommandFailure? {
        guard let serverError = Connection.serverError(in: error), let state = serverError.sqlState else { return nil }
        let isInvalidKey = Rejection.Code(sqlState: state) == .invalidKey
        guard isInvalidKey || state == .noDataFound else { return nil }
        let sentences = [serverError.message, serverError.detail, serverError.hint].compactMap(\.self)
        return CommandFailure(
            isInvalidKey ? .usage : .failed, sentences.map { $0.hasSuffix(".") ? $0 : $0 + "." }.joined(separator: " "))
    }

    /// The failure if the name of an attached table belongs to something else, or to nothing.
    static func notATable(_ names: OrderNames) -> CommandFailure {
        CommandFailure(
            .needsRepair,
            """
            \("\(names.schema).\(names.table)".printable) is attached, but no table has this name any more. So it was not read. \
            Rename the table back, or run: \(names.detachCommand.printable)
            """)
    }

    static func impossibleList(_ list: String, in table: String, because reason: String) -> CommandFailure {
        CommandFailure(.usage, "\(table.printable) can't have a list \"\(list.printable)\": \(reason).")
    }
}

extension SQLState {
    fileprivate static let noDataFound = SQLState(rawValue: "P0002")
    /// The server's errors for Brocot's objects before the migrations have run.
    fileprivate static let missingSchema: Set<SQLState?> = [.undefinedTable, .invalidSchemaName]
}
