/// One numbered file of SQL, applied in one transaction.
package struct Migration: Sendable, Equatable {
    /// The number at the beginning of the file's name, at least 1.
    package let version: Int
    /// The rest of the file's name, without the extension: `move_requests` of `0002_move_requests.sql`.
    package let name: String
    /// The file's path, now or when the binary was built. It is used only in messages.
    package let path: String
    /// The file's text, with a line feed at the end of each line.
    package let sql: String

    /// The file's name has the form `0002_move_requests.sql`: digits, an underscore, and one or more lower-case letters,
    /// digits or underscores.
    ///
    /// - Throws: ``MigrationError/invalidFileName(path:)``.
    init(fileName: String, directory: String, text: String) throws(MigrationError) {
        path = Self.path(of: fileName, in: directory)
        guard let match = fileName.wholeMatch(of: /([0-9]{1,9})_([a-z0-9_]+)\.sql/), let version = Int(match.1),
            version > 0
        else { throw .invalidFileName(path: path) }
        self.version = version
        name = String(match.2)
        sql = Self.normalized(text)
    }

    /// The statements of `sql`, in order. They are searched each time, because most commands need none of them.
    var statements: [Statement] { Statement.all(in: sql) }

    static func path(of fileName: String, in directory: String) -> String {
        directory.hasSuffix("/") ? directory + fileName : "\(directory)/\(fileName)"
    }

    /// `sql`, with a semicolon after the last statement, so that another one can follow.
    var sqlWithLastSemicolon: String {
        guard let last = statements.last, last.end == sql.unicodeScalars.count else { return sql }
        // The semicolon is on a line of its own, because the last line may be a comment.
        return "\(sql)\n;"
    }

    /// - Throws: ``MigrationError/noStatement(path:)`` if the text contains only white space and comments;
    ///   ``MigrationError/unsuitable(_:at:)``.
    func checkStatements() throws(MigrationError) {
        if sql.utf8.contains(0) {
            let offset = sql.unicodeScalars.prefix { $0 != "\0" }.count
            throw .unsuitable(
                "the server can't read the character NUL. Remove it.", at: location(offset: offset))
        }
        let statements = statements
        guard !statements.isEmpty else { throw .noStatement(path: path) }
        for statement in statements {
            guard let reason = Self.fault(of: statement) else { continue }
            throw .unsuitable(reason, at: location(offset: statement.offset))
        }
    }

    private static func fault(of statement: Statement) -> String? {
        if let command = statement.transactionCommand {
            return "\(command) in a migration: each migration runs in one transaction of its own. Remove the command."
        }
        return statement.copiesThroughClient
            ? "COPY with STDIN or STDOUT in a migration: no client sends or receives the data. Use INSERT." : nil
    }

    /// The place at `offset`, in Unicode scalars of `sql`.
    func location(offset: Int) -> SourceLocation {
        SourceLocation(path: path, text: sql, offset: offset)
    }

    /// Removes a byte order mark and the carriage returns of a checkout on Windows, which are no change of the migration.
    private static func normalized(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "\r")) || text.unicodeScalars.first == "\u{FEFF}" else { return text }
        var scalars = String.UnicodeScalarView()
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            if scalar == "\n", previous == "\r" { scalars.removeLast() }
            if scalar != "\u{FEFF}" || previous != nil { scalars.append(scalar) }
            previous = scalar
        }
        return String(scalars)
    }
}
