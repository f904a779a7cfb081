internal import LibPQ

/// The messages about errors of the server. It repeats texts of the files, which may be very long.
extension MigrationError {
    private static let longestText = 1000

    static func describe(_ error: PostgresError, at location: SourceLocation) -> String {
        var lines = ["\(location): error: \(shortened(error.message))", location.excerpt] + details(of: error)
        if error.sqlState == .activeTransaction {
            lines.append(
                "Hint: Each migration runs in one transaction, where this command can't. "
                    + "For an index, leave out CONCURRENTLY, or build it by hand before the migration.")
        }
        lines.append("This migration changed nothing; earlier migrations stay applied.")
        return lines.joined(separator: "\n")
    }

    static func describe(_ error: PostgresError, atEndOf path: String) -> String {
        let reason = "\(path): error: \(shortened(error.message))"
        guard error.code != .commitOutcomeUnknown else {
            return "\(reason)\nRun the command again: it applies only what is missing."
        }
        let lines =
            [
                reason,
                "All statements of the file ran, and then the server refused to record or to commit the migration.",
            ]
            + details(of: error) + ["This migration changed nothing; earlier migrations stay applied."]
        return lines.joined(separator: "\n")
    }

    private static func details(of error: PostgresError) -> [String] {
        var lines: [String] = []
        if let sqlState = error.sqlState { lines.append("SQLSTATE: \(sqlState)") }
        if let detail = error.detail { lines.append("Detail: \(shortened(detail))") }
        if let query = error.internalQuery {
            let place = (error.internalPosition ?? 1) - 1
            lines.append("Statement: \(query.excerpt(around: place, length: longestText).text)")
        }
        if let context = error.context { lines.append("Context: \(shortened(context))") }
        if let hint = error.hint { lines.append("Hint: \(shortened(hint))") }
        return lines
    }

    static func shortened(_ text: String) -> String { text.excerpt(around: 0, length: longestText).text }
}

extension SQLState {
    /// A command that can't run inside a transaction was run inside one.
    static let activeTransaction = SQLState(rawValue: "25001")
}
