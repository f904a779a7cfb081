import LibPQ
import SternBrocot

/// Why nothing was imported.
package enum ImportRefusal: Error {
    /// The table is not registered.
    case unknownTable
    /// The table takes no imports, or can't have the list; the reason is without a full stop.
    case impossible(reason: String)
    /// The database, or a line of the text, does not allow it now.
    case refused(Rejection)
}

/// Inserts new items at the end of a list with COPY, in one transaction that has the list's lock.
package struct ListImport: Sendable {
    private let list: ListIdentifier
    private let table: OrderedTable

    /// The longest wait for the list's lock.
    private static let lockTimeout = "60s"

    private static func settings(_ orderedTable: String) -> [(String, String)] {
        [
            ("lock_timeout", lockTimeout), ("statement_timeout", "0"), ("transaction_timeout", "0"),
            ("idle_in_transaction_session_timeout", "0"),
        ] + WritingSettings.of(orderedTable) + MoveApplication.plannerSettings
    }

    /// Imports the keys of a text with one key in each line. If a line is refused, nothing is inserted.
    ///
    /// - Parameters:
    ///   - list: The list.
    ///   - read: Returns the next piece of the text in UTF-8; empty at its end. It is called on the connection's thread. The list is
    ///     locked after the first piece.
    ///   - connection: A connection without an open transaction.
    /// - Returns: The number of inserted items; or a refusal, which names the line that caused it, if one did.
    /// - Throws: ``OrderingError``, or the error of `read`. Then nothing was inserted.
    package static func run(
        into list: ListIdentifier, reading read: @escaping @Sendable () throws -> [UInt8],
        on connection: isolated Connection
    ) throws -> Result<Int, ImportRefusal> {
        do {
            return .success(
                try connection.transaction(settings: settings(list.orderedTable)) { connection in
                    // The first piece is read before the list is locked, because the text may come slowly, for example
                    // from a person. It is read inside the transaction, because the server may end a session that is
                    // idle outside of a transaction.
                    var first: [UInt8]? = try read()
                    let read = { () throws -> [UInt8] in
                        defer { first = nil }
                        return try first ?? read()
                    }
                    _ = try connection.query(AdvisoryLock.ofList(list).lock)
                    guard try !connection.query(isBeingFilled(list)).single().decode(0, as: Bool.self) else {
                        throw Rejection(
                            .failed,
                            """
                            brocot attach or brocot check --repair of \(list.orderedTable) is not finished. If neither runs now, \
                            brocot check says what to do
                            """)
                    }
                    let table = try table(of: list, on: connection)
                    return try ListImport(list: list, table: table).copy(read, on: connection)
                })
        } catch let refusal as ImportRefusal {
            return .failure(refusal)
        } catch let rejection as Rejection {
            return .failure(.refused(rejection))
        } catch let refused as RefusedRow {
            return .failure(.refused(try refused.rejection(on: connection)))
        } catch let error as PostgresError {
            throw OrderingError.database(error)
        }
    }

    private static func table(of list: ListIdentifier, on connection: isolated Connection) throws -> OrderedTable {
        let name = list.orderedTable
        guard let table = try OrderedTable.named(name, on: connection) else {
            throw ImportRefusal.unknownTable
        }
        if let rejection = table.rejection(ofList: list.key) {
            throw ImportRefusal.impossible(reason: rejection.message)
        }
        guard table.ownsRows else {
            let advice = try adviceToCopy(into: name, on: connection)
            throw ImportRefusal.impossible(reason: "\(name) was attached without --owns-rows. \(advice)")
        }
        guard try !connection.query(hasActivePolicies(table)).single().decode(0, as: Bool.self) else {
            throw ImportRefusal.impossible(
                reason: """
                    the row-level security of \(name) applies to this role, and COPY does not work with it. Import as the table's \
                    owner, or as a role with BYPASSRLS
                    """)
        }
        return table
    }

    /// How to insert many rows into a table without `--owns-rows`, and who places them. The text has no full stop at its end.
    private static func adviceToCopy(into table: String, on connection: isolated Connection) throws -> String {
        let order = try connection.query(
            """
            SELECT registered.arrive, registered.arrive_now FROM brocot.ordered_tables AS registered
            WHERE registered.name OPERATOR(pg_catalog.=) \(table)
            """
        ).single()
        guard try order.decode(0, as: String.self) != "none" else {
            return "COPY the rows into the table, and then move them: with --arrive none, new rows get no place"
        }
        return try order.decode(1, as: Bool.self)
            ? """
            COPY the rows into the table: with --arrive-now, COPY places them in their order. If they are of more than \
            \(AdvisoryLock.mostLists) lists, the daemon places them
            """
            : "COPY the rows into the table; the daemon places them in their order"
    }

    private static func hasActivePolicies(_ table: OrderedTable) -> SQL {
        "SELECT pg_catalog.row_security_active(\(table.names.quoted)::pg_catalog.text::pg_catalog.regclass)"
    }

    private static func isBeingFilled(_ list: ListIdentifier) -> SQL {
        """
        SELECT EXISTS (
            SELECT FROM brocot.ordered_tables AS registered
            WHERE registered.name = \(list.orderedTable) AND registered.being_filled)
        """
    }

    // MARK: Copying

    private func copy(
        _ read: @escaping () throws -> [UInt8], on connection: isolated Connection
    ) throws -> Int {
        guard let first = Rank.between(try lastRank(on: connection), nil) else {
            throw Rejection(.failed, "no rank is left behind the last item of list \(list)")
        }
        let lines = ImportedLines(keysOf: table.itemColumn, read: read)
        let rows = ImportedRows(lines, in: table.listValues(of: list.key) ?? [], from: first.numerator)
        let copied: Int
        do throws(PostgresError) {
            copied = try connection.copyIn(statement, rows: rows)
        } catch {
            throw RefusedRow(error, in: table) ?? error
        }
        if let error = lines.readError { throw error }
        if let fault = lines.fault { throw Rejection(.invalidKey, "line \(fault.line): \(fault.reason)") }
        guard copied == lines.count else {
            throw OrderingError.unexpectedRowCount(table: table.name, expected: lines.count, written: copied)
        }
        // COPY also counts rows whose list or rank a trigger has changed.
        let written: Int = try connection.query(countOfWritten(copied, from: first.numerator)).single().decode(0)
        guard written == copied else {
            throw OrderingError.unexpectedRowCount(table: table.name, expected: copied, written: written)
        }
        return copied
    }

    /// The number of rows of the list that have the ranks of `count` imported items.
    private func countOfWritten(_ count: Int, from rank: Int64) -> SQL {
        let sortKey: SQL = "stored.\(identifier: table.names.rank)"
        return """
            SELECT pg_catalog.count(*) FROM \(table.names.sql) AS stored
            WHERE \(sortKey) OPERATOR(pg_catalog.>=) \(rank)::pg_catalog.int8::pg_catalog.numeric
                AND \(sortKey) OPERATOR(pg_catalog.<) (\(rank)::pg_catalog.int8
                    OPERATOR(pg_catalog.+) \(Int64(count))::pg_catalog.int8)::pg_catalog.numeric
                AND \(ListColumns(table).isIn(list.key, "stored"))
            """
    }

    private func lastRank(on connection: isolated Connection) throws -> Rank? {
        let need = ListNeed(list: list, wanted: .run(from: nil, .down, count: 1))
        guard case .run(let rows)? = try OrderedTableRepository(table).read([need], on: connection).first?.result
        else {
            return nil
        }
        return rows.first?.rank
    }

    private var statement: String {
        let names = table.names
        let columns =
            table.listColumns.map(\.name) + [table.itemColumn.name, names.numerator, names.denominator, names.rank]
        return """
            COPY \(names.quoted) \
            (\(columns.map(quoteIdentifier).joined(separator: ", "))) FROM STDIN
            """
    }
}

/// A row that the database refused. The transaction has failed.
private struct RefusedRow: Error {
    private let error: PostgresError
    private let state: SQLState
    private let table: OrderedTable

    /// Nil if the error does not concern a row.
    init?(_ error: PostgresError, in table: OrderedTable) {
        guard let state = error.sqlState, ["22", "23", "P0"].contains(state.classCode) else { return nil }
        (self.error, self.state, self.table) = (error, state, table)
    }

    /// The rejection, with the row's line. The transaction must have ended.
    ///
    /// The server names the line in the error's context, in the language of its messages.
    func rejection(on connection: isolated Connection) throws(OrderingError) -> Rejection {
        let line = error.context.flatMap { $0.firstMatch(of: /COPY .*?, \S+ (\d+)/) }.map { "line \($0.1): " } ?? ""
        let detail = error.detail.map { " (\($0))" } ?? ""
        guard try isOfUsedKey(on: connection) else {
            return Rejection(.failed, "\(line)\(error.message)\(detail)", sqlState: state.rawValue)
        }
        return Rejection(
            .itemExists, "\(line)another row, or an earlier line, has this key\(detail)", sqlState: state.rawValue)
    }

    /// Whether another row has the row's key. A unique constraint of a further column does not show that.
    private func isOfUsedKey(on connection: isolated Connection) throws(OrderingError) -> Bool {
        guard state == .uniqueViolation, let schema = error.schema, let index = error.constraint else { return false }
        do throws(PostgresError) {
            return try connection.transaction(.repeatableReadOnly) { connection throws(PostgresError) in
                try connection.query(isOfKey(index, in: schema)).single().decode(0, as: Bool.self)
            }
        } catch {
            throw .database(error)
        }
    }

    /// Whether an index is on the table or one of its partitions, and on the item column, alone or with list columns. The statement runs with only
    /// `pg_catalog` in the `search_path`.
    private func isOfKey(_ index: String, in schema: String) -> SQL {
        """
        SELECT EXISTS (
            SELECT FROM pg_index AS violated
            JOIN pg_class AS relation ON relation.oid = violated.indexrelid
            JOIN pg_namespace AS namespace ON namespace.oid = relation.relnamespace
            CROSS JOIN LATERAL unnest(violated.indkey::int2[]) WITH ORDINALITY AS key (attnum, number)
            LEFT JOIN pg_attribute AS stored ON stored.attrelid = violated.indrelid AND stored.attnum = key.attnum
            WHERE namespace.nspname = \(schema)::name AND relation.relname = \(index)::name
                AND coalesce(pg_partition_root(violated.indrelid), violated.indrelid) = \(table.names.quoted)::regclass
                AND key.number <= violated.indnkeyatts
            HAVING bool_and(coalesce(stored.attname::text = ANY (\(keys)), false))
                AND bool_or(stored.attname::text = \(table.itemColumn.name)))
        """
    }

    private var keys: [String] { table.listColumns.map(\.name) + [table.itemColumn.name] }
}

/// The rows of imported items: the values of the list columns, the key, and consecutive integers as ranks.
private struct ImportedRows: Sequence, IteratorProtocol {
    private let lines: ImportedLines
    private let list: [String]
    private var rank: Int64

    init(_ lines: ImportedLines, in list: [String], from rank: Int64) {
        self.lines = lines
        self.list = list
        self.rank = rank
    }

    mutating func next() -> [String?]? {
        guard let key = lines.next() else { return nil }
        defer { rank += 1 }
        let number = String(rank)
        return list + [key, number, "1", number]
    }
}
