import LibPQ
import Ordering

extension TableReader {
    /// The condition in the form of the registry: as the server prints it if only `pg_catalog` is in the `search_path`. It means the same in
    /// each session, whatever settings such as `DateStyle` are.
    ///
    /// Only `pg_catalog` is searched for the names in it, too. Otherwise an operator that another role has put into the `search_path` could
    /// be preferred, and would run with the rights of the role that attaches the table.
    ///
    /// A row stays visible or hidden when it moves. So the condition must not depend on the columns of the list and the rank.
    ///
    /// - Throws: ``AttachError/refused(_:)`` if it is not an immutable condition on the row's own columns, or if it uses the
    ///   columns of the list or the rank.
    package static func canonical(
        _ condition: String, of names: OrderNames, listColumns: [String], on connection: isolated Connection
    ) throws(AttachError) -> String {
        typealias Column = CatalogStatements.ConditionColumn
        let table = names.quoted
        let (text, columns): (String?, [String])
        do throws(PostgresError) {
            (text, columns) = try connection.transaction(
                .readCommittedInSystemCatalog, settings: [TransactionSettings.printedNames]
            ) {
                connection throws(PostgresError) in
                for statement in CatalogStatements.probe(condition, table: table) { try connection.execute(statement) }
                _ = try connection.query(CatalogStatements.printing)
                let row = try connection.query(CatalogStatements.probed).single()
                let text = (try row.decode(Column.text, as: String?.self)).map(escapingBackslashes)
                let columns = try row.decode(Column.columns, as: [String].self)
                if let text { _ = try connection.query(CatalogStatements.tryCondition(text, of: names)) }
                try connection.execute("DROP TABLE pg_temp.brocot_visible")
                return (text, columns)
            }
        } catch {
            guard error.isAboutExpression else { throw .database(error) }
            throw .refused("--visible must be an immutable condition on the row's own columns: \(error.message)")
        }
        guard let text else {
            throw .refused("--visible is true for each row. Leave it out: then all rows are visible")
        }
        let changing = Set(listColumns + names.rankColumns)
        if let column = columns.first(where: changing.contains) {
            throw .refused(
                """
                --visible names column "\(column)", which changes when a row moves. A row must stay visible or hidden when it \
                moves
                """)
        }
        return text
    }

    /// What is wrong if the registered condition of visibility fails for a row. An error depends on the row, so each row is tried.
    ///
    /// - Parameters:
    ///   - definition: The order. Its table must exist, and no policy may hide rows of it.
    ///   - sample: How many rows are tried; nil means all.
    ///   - connection: A connection in a transaction in which only `pg_catalog` is searched.
    /// - Returns: The fault; nil if no tried row has it, or if the current role may not try the condition.
    /// - Throws: An error of the database that the condition did not cause.
    static func faultOfCondition(
        of definition: OrderDefinition, sample: Int? = nil, on connection: isolated Connection
    ) throws(PostgresError) -> OrderFault? {
        guard let condition = definition.visible else { return nil }
        let trial = CatalogStatements.tryCondition(condition, forRowsOf: definition.names, sample: sample)
        guard let reason = try reasonForFailure(of: trial, definition.names, on: connection) else { return nil }
        return OrderFault(
            message: "the condition of visibility, \(condition), fails for a row: \(reason)",
            advice: """
                Change the row, or repeat brocot attach with another --visible and with --change-options. Until then, moves to a position \
                (at) can fail.
                """)
    }

    /// Why a statement with a registered condition of visibility fails; nil if it doesn't fail, or if the current role may not run it.
    static func reasonForFailure(
        of trial: SQL, _ names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> String? {
        guard try TableLock.lock(names, on: connection) == .locked else { return nil }
        do throws(PostgresError) {
            try connection.savepoint("condition") { connection throws(PostgresError) in _ = try connection.query(trial)
            }
            return nil
        } catch {
            guard let state = error.sqlState, state != .insufficientPrivilege else { return nil }
            guard state != .queryCanceled else { throw error }
            return error.message
        }
    }

    /// Literals with a backslash become `E''` literals, which do not depend on `standard_conforming_strings`.
    ///
    /// - Parameter expression: As the server prints it if that setting is on.
    /// - Returns: The same expression.
    private static func escapingBackslashes(_ expression: String) -> String {
        let quoted = /"(?:[^"]|"")*"|'(?:[^']|'')*'/.matchingSemantics(.unicodeScalar)
        return expression.replacing(quoted) { match in
            guard match.output.first == "'", match.output.contains("\\") else { return String(match.output) }
            return " E" + match.output.replacing("\\", with: "\\\\")
        }
    }
}
