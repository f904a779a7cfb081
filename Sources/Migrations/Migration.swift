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
        path = directory.hasSuffix("/") ? directory + fileName : "\(directory)/\(fileName)"
        guard let match = fileName.wholeMatch(of: /([0-9]{1,9})_([a-z0-9_]+)\.sql/), let version = Int(match.1),
            version > 0
        else { throw .invalidFileName(path: path) }
        self.version = version
        name = String(match.2)
        sql = Self.normalized(text)
    }

    /// The statements of `sql`, in order. They are searched each time, because most commands need none of them.
    var statements: [Statement] { Statement.all(in: sql) }

    /// - Throws: ``MigrationError/noStatement(path:)`` if the text contains only white space and comments;
    ///   ``MigrationError/transactionCommand(_:at:)``.
    func checkStatements() throws(MigrationError) {
        let statements = statements
        guard !statements.isEmpty else { throw .noStatement(path: path) }
        for statement in statements {
            guard let command = statement.transactionCommand else { continue }
            throw .transactionCommand(command, at: location(offset: statement.offset))
        }
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
