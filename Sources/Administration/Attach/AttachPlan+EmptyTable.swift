import LibPQ
import Ordering

extension AttachPlan {
    /// The statements that attach a table without rows, for one transaction. They fail with 55000 if the table has rows.
    ///
    /// No other session can write to the table during the transaction. So the index needs no CONCURRENTLY, and there is
    /// nothing to place. Afterwards the `search_path` is as before.
    package var statementsForEmptyTable: [String] {
        guard fills || !steps.isEmpty else { return [] }
        let names = definition.names
        let table = names.quoted
        let message = "\(names.orderedTable) has rows. Run brocot attach instead, which places them."
        let check = """
            BEGIN IF EXISTS (SELECT FROM \(table)) THEN \
            RAISE EXCEPTION USING MESSAGE = \(quoteLiteral(message)), ERRCODE = '55000'; END IF; END
            """
        return [
            """
            SELECT pg_catalog.set_config('brocot.former_path', pg_catalog.current_setting('search_path'), true), \
            pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)
            """,
            "LOCK TABLE \(table) IN SHARE ROW EXCLUSIVE MODE",
            "DO \(quoteLiteral(check))",
        ]
            + stepsOfObjects.flatMap(\.statements).map(Self.withoutConcurrently)
            + (fills ? RegistryStatements.filled(names.orderedTable) : [])
            + ["SELECT set_config('search_path', current_setting('brocot.former_path'), true)"]
    }

    private static func withoutConcurrently(_ statement: String) -> String {
        for command in ["CREATE UNIQUE INDEX ", "DROP INDEX "] where statement.hasPrefix(command + "CONCURRENTLY ") {
            return command + statement.dropFirst((command + "CONCURRENTLY ").count)
        }
        return statement
    }
}
