/// Makes operators, functions and types without a schema mean those of PostgreSQL itself.
///
/// The server looks such names up in the schemas of the session's `search_path`. It searches `pg_catalog` first unless the
/// `search_path` names `pg_catalog` elsewhere. A role or database may have a setting that names another schema before
/// `pg_catalog`; then an operator or function of that schema with the same name and types would be called.
///
/// An operator or function whose types match the arguments exactly is preferred, even if its schema comes last in the
/// `search_path`. So it isn't enough that `pg_catalog` is first where `pg_catalog` has no exact match.
package enum SearchPath {
    /// An expression for a SELECT. It removes `pg_catalog` from the `search_path` for the rest of the transaction, so that
    /// `pg_catalog` is searched first. The other schemas stay, because triggers of users may need them.
    ///
    /// `pg_catalog` isn't moved to the front, because new objects are created in the schema that is named first. In its old
    /// place the path gets `""`, a schema that can't exist. The literals contain no backslash, because a setting can change
    /// the meaning of a backslash.
    package static let putSystemCatalogFirst: SQL =
        "pg_catalog.set_config('search_path', \(without(["pg_catalog"])), true)"

    /// The same, and temporary objects are searched last. Unless the path names `pg_temp`, the server looks for types and
    /// tables there first: a user's trigger that creates a temporary table called `text` would change what `text` means in
    /// the rest of the session.
    static let putSystemCatalogFirstAndTemporaryLast: SQL = """
        pg_catalog.set_config('search_path', pg_catalog.concat(\
        pg_catalog.regexp_replace(\(without(["pg_catalog", "pg_temp"])), '^[[:space:]]*$', '""'), ', pg_temp'), true)
        """

    /// A statement after which only `pg_catalog` and temporary objects are searched, for the rest of the transaction.
    static let setSystemCatalogOnly = "SET LOCAL search_path = pg_catalog, pg_temp"

    private static func without(_ schemas: [String]) -> SQL {
        let names = SQL(unsafeRaw: schemas.map { #""\#($0)"|\#($0)"# }.joined(separator: "|"))
        return """
            pg_catalog.regexp_replace(pg_catalog.current_setting('search_path'), \
            '(?<=^|,)[[:space:]]*(\(names))[[:space:]]*(?=,|$)', '""', 'gi')
            """
    }
}

extension Connection {
    /// Runs `body` while only `pg_catalog` and temporary objects are searched, in a transaction. Afterwards the transaction's
    /// `search_path` is as before. If an error of the server ends the transaction or its savepoint, that end sets it back.
    ///
    /// For statements with an expression of a user, whose operators can't be qualified.
    package func inSystemCatalog<Value, Failure: Error>(
        wrapping wrap: (PostgresError) -> Failure, _ body: (isolated Connection) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let path: String
        do throws(PostgresError) {
            // The setting is read before it is changed.
            path = try query(
                """
                SELECT old.path, pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)
                FROM (SELECT pg_catalog.current_setting('search_path') AS path OFFSET 0) AS old
                """
            ).single().decode(0)
        } catch {
            throw wrap(error)
        }
        let setBack = "SELECT pg_catalog.set_config('search_path', \(quoteLiteral(path)), true)"
        let value: Value
        do throws(Failure) {
            value = try body(self)
        } catch {
            // A statement that was not sent, for example because of a NUL character, leaves the transaction as it was.
            if transactionStatus == .inTransaction { _ = try? execute(script: setBack, .mustRun) }
            throw error
        }
        do throws(PostgresError) { try execute(script: setBack) } catch { throw wrap(error) }
        return value
    }
}
