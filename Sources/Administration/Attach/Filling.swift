import LibPQ
import Logging
import Ordering

/// Places the rows that were in a table when it was attached: ranks 0, 1, 2, … in each list.
///
/// The order is written down once, in `brocot.rows_to_place`, and the rows are then placed in batches, each of which is
/// crossed out in its own transaction. So a filling that was ended goes on where it was, and rows that come meanwhile come
/// after those that were there.
package struct Filling: Sendable {
    private let connection: Connection
    private let definition: OrderDefinition
    private let statements: FillingStatements
    private let batchSize: Int
    private let logger: Logger

    package init(
        _ definition: OrderDefinition, on table: TableDescription, connection: Connection, batchSize: Int = 2_000,
        logger: Logger
    ) {
        self.connection = connection
        self.definition = definition
        self.batchSize = batchSize
        self.logger = logger
        statements = FillingStatements(definition, on: table)
    }

    /// - Parameters:
    ///   - order: what stands behind ORDER BY; nil: by the item column. It is not used where a filling goes on.
    ///   - progress: is told how many rows are placed, and how many there are.
    /// - Throws: what the database says; the rows that were placed by then stay placed, and the next run goes on from there.
    package func run(
        orderedBy order: String?, progress: @Sendable (Int, Int) -> Void
    ) async throws(AttachError) {
        try await databaseErrors {
            var remaining = try await count()
            if remaining == 0 {
                try await connection.run { [statements] connection throws(PostgresError) in
                    try connection.transaction(.callersReadCommitted, settings: [("statement_timeout", "0")]) {
                        connection throws(PostgresError) in
                        _ = try connection.execute(statements.writeDown(orderedBy: order))
                    }
                    _ = try connection.execute("ANALYZE brocot.rows_to_place")
                }
                remaining = try await count()
            } else {
                logger.notice("going on with the \(remaining) rows that are left to be placed")
            }
            try await place(remaining, progress)
            try await connection.run { [definition] connection throws(PostgresError) in
                try connection.transaction(.callersReadCommitted, settings: TableReader.settings) {
                    connection throws(PostgresError) in
                    try connection.execute(script: Attacher.becomeSchemaOwner)
                    for statement in RegistryStatements.filled(definition.names.orderedTable) {
                        _ = try connection.execute(SQL(unsafeRaw: statement))
                    }
                }
            }
        }
    }

    private func count() async throws -> Int {
        try await connection.query(statements.count).single().decode(0)
    }

    /// Passes through what is left until nothing is: rows that others have locked are left for the next pass, so that
    /// nobody who updates rows in another order gets into a deadlock with this.
    private func place(_ total: Int, _ progress: @Sendable (Int, Int) -> Void) async throws {
        var (remaining, last) = (total, 0 as Int64)
        while remaining > 0 {
            try Task.checkCancellation()
            let (begin, isLastOfPass) = (last, remaining)
            let (crossedOut, end) = try await connection.run {
                [statements, batchSize] connection throws(PostgresError) in
                try connection.transaction(settings: statements.settings) { connection throws(PostgresError) in
                    let row = try connection.query(statements.batch(after: begin, size: batchSize)).single()
                    return (try row.decode(0, as: Int.self), try row.decode(1, as: Int64?.self))
                }
            }
            remaining -= crossedOut
            progress(total - remaining, total)
            guard let end else {
                last = 0
                // What was counted as left may be gone meanwhile; else it is locked by others.
                remaining = try await count()
                if remaining == isLastOfPass { try await Task.sleep(for: .milliseconds(200)) }
                continue
            }
            last = end
        }
    }
}
