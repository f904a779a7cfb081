internal import LibPQ

extension Migration {
    /// Runs the statements in the open transaction.
    ///
    /// - Throws: ``MigrationError``; the caller must roll the transaction back.
    func run(on connection: isolated Connection) throws(MigrationError) {
        for statement in statements {
            do throws(PostgresError) {
                // Each statement is sent alone, not in a script. If the scanner takes two statements for one, the server
                // refuses them, and a hidden COMMIT can't run.
                try connection.execute(SQL(unsafeRaw: statement.text))
            } catch {
                guard error.code != .cancelled else { throw .cancelled }
                throw error.sqlState == nil ? .database(error) : migrationError(of: statement, by: error)
            }
        }
    }

    private func migrationError(of statement: Statement, by serverError: PostgresError) -> MigrationError {
        let position = ErrorPosition(error: serverError)
        return .refused(at: location(offset: position.offset(of: statement, in: sql)), by: serverError)
    }
}
