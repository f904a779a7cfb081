import Administration

/// Plans as text for people, and as scripts for psql.
enum PlanText {
    /// One line for each step, and notes for the person.
    static func description(_ plan: AttachPlan) -> String {
        var lines = plan.steps.enumerated().map { "\($0 + 1). \($1.purpose.printable): \($1.lock.rawValue)" }
        if plan.fills {
            lines.append(
                "\(lines.count + 1). place the existing rows in batches: a batch's rows are locked for a moment")
        }
        return (lines.isEmpty ? ["Nothing to do."] : lines + plan.notes.map(\.printable)).joined(separator: "\n")
    }

    /// A script. A comment before each transaction says which role must run it.
    static func script(_ steps: [AttachStep]) -> String {
        steps.map { step in
            let actor = step.actor == .tableOwner ? "the table's owner" : "the owner of schema brocot"
            let statements = step.statements.map { $0.printableSQL + ";" }.joined(separator: "\n")
            let comment = "-- \(step.purpose.printable), as \(actor): \(step.lock.rawValue)"
            guard step.isTransactional else { return "\(comment)\n\(statements)" }
            return """
                \(comment)
                BEGIN;
                SET LOCAL search_path = pg_catalog;
                SET LOCAL lock_timeout = '200ms';
                \(statements)
                COMMIT;
                """
        }.joined(separator: "\n\n")
    }
}
