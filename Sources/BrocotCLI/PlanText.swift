import Administration

/// Plans as text for people, and as scripts for psql.
enum PlanText {
    /// The plan for people: one line for each step, and notes.
    static func description(_ plan: AttachPlan) -> String {
        var lines = plan.steps.enumerated().map { "\($0 + 1). \($1.purpose.printable): \($1.lock.rawValue)" }
        switch plan.rowsToPlace {
        case .all, .stored:
            lines.append(
                "\(lines.count + 1). place the existing rows in batches: a batch's rows are locked for a moment")
        case .keptOrder: lines.append("\(lines.count + 1). let requests pass, because the table has an order already")
        case nil: break
        }
        let notes = plan.notes + (plan.noteOnUnplacedRows.map { [$0] } ?? [])
        return (lines.isEmpty ? ["Nothing to do."] : lines + notes.map(\.printable)).joined(separator: "\n")
    }

    /// How to run the script: none of it may be part of a larger transaction, because an index is built CONCURRENTLY.
    private static let instructions = """
        -- Send these statements one by one, not inside a transaction of your tool: psql -v ON_ERROR_STOP=1 -f FILE
        -- Rails: disable_ddl_transaction!, one execute per statement. Django: atomic = False, RunSQL([one string per statement]).
        -- If a statement fails with 55P03: ROLLBACK, print the script again, and run that. The new script has only the statements that are left.
        """

    /// A script for a table without rows, which may be a part of a larger transaction.
    static func scriptForEmptyTable(_ plan: AttachPlan) -> String {
        let statements = plan.statementsForEmptyTable
        guard !statements.isEmpty else { return "-- Nothing to do." }
        let instructions = """
            -- For a table without rows. Run all of it in one transaction, with the rights of the table's owner and of the owner of
            -- brocot.ordered_tables: psql --single-transaction -v ON_ERROR_STOP=1 -f FILE
            """
        let commands = statements.map { $0.printableSQL + ";" }
        if isASCII(commands) { return ([instructions] + commands).joined(separator: "\n") }
        let beginning = """
            SELECT pg_catalog.set_config('brocot.former_encoding', pg_catalog.current_setting('client_encoding'), true), \
            pg_catalog.set_config('client_encoding', 'UTF8', true);
            """
        let end =
            "SELECT pg_catalog.set_config('client_encoding', pg_catalog.current_setting('brocot.former_encoding'), true);"
        return ([instructions, beginning] + commands + [end]).joined(separator: "\n")
    }

    /// A script that attaches a table, and what is left to do then.
    static func script(_ plan: AttachPlan) -> String {
        let end = """
            -- Then run the same brocot attach without --sql. It places the existing rows in batches, and makes functions for moves at once.
            -- Until then, moves of this table wait.
            """
        guard plan.fills else { return script(plan.steps) }
        return plan.steps.isEmpty ? end : "\(script(plan.steps))\n\n\(end)"
    }

    /// A script. A comment before each transaction says which role must run it.
    static func script(_ steps: [AttachStep]) -> String {
        guard !steps.isEmpty else { return "-- Nothing to do." }
        let parts = steps.map { step in
            let actor = step.actor == .tableOwner ? "the table's owner" : "the owner of brocot.ordered_tables"
            let statements = step.statements.map { $0.printableSQL + ";" }.joined(separator: "\n")
            let comment = "-- \(step.purpose.printable), as \(actor): \(step.lock.rawValue)"
            guard step.execution != .alone else { return "\(comment)\n\(statements)" }
            let searchPath =
                step.execution == .inSessionsSearchPath ? "" : "\nSET LOCAL search_path = pg_catalog, pg_temp;"
            return """
                \(comment)
                BEGIN;\(searchPath)
                SET LOCAL lock_timeout = '200ms';
                SET LOCAL quote_all_identifiers = off;
                \(statements)
                COMMIT;
                """
        }
        let encoding = isASCII(parts) ? [] : ["SET client_encoding = 'UTF8';"]
        return ([instructions] + encoding + parts).joined(separator: "\n\n")
    }

    /// Whether a script means the same in each encoding of a client.
    private static func isASCII(_ texts: [String]) -> Bool {
        texts.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } }
    }
}
