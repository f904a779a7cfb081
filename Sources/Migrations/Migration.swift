/// One numbered file of SQL, applied in one transaction.
package struct Migration: Sendable, Equatable {
    /// The number that the file's name begins with, from 1 up.
    package let version: Int
    /// The rest of the file's name, without the extension: `move_requests` of `0002_move_requests.sql`.
    package let name: String
    /// Where the file is, or was when the binary was built; for messages only.
    package let path: String
    /// The file's text, with lines that end in a single line feed.
    package let sql: String
    /// The statements of `sql`, in order; at least one.
    let statements: [Statement]

    /// The file's name is such as `0002_move_requests.sql`: digits, an underscore, and one or more of the lower-case
    /// letters, digits and underscores.
    ///
    /// - Throws: ``MigrationError/invalidFileName(path:)``; ``MigrationError/noStatement(path:)`` where the text is nothing
    ///   but white space and comments; ``MigrationError/transactionCommand(_:at:)``.
    init(fileName: String, directory: String, text: String) throws(MigrationError) {
        path = directory.hasSuffix("/") ? directory + fileName : "\(directory)/\(fileName)"
        guard let match = fileName.wholeMatch(of: /([0-9]{1,9})_([a-z0-9_]+)\.sql/), let version = Int(match.1),
            version > 0
        else { throw .invalidFileName(path: path) }
        self.version = version
        name = String(match.2)
        sql = Self.normalized(text)
        statements = Statement.all(in: sql)
        guard !statements.isEmpty else { throw .noStatement(path: path) }
        for statement in statements {
            guard let command = statement.transactionCommand else { continue }
            throw .transactionCommand(command, at: location(offset: statement.offset))
        }
    }

    /// The place that `offset` Unicode scalars of `sql` precede.
    func location(offset: Int) -> SourceLocation {
        SourceLocation(path: path, text: sql, offset: offset)
    }

    /// A checkout on Windows or an editor's byte order mark must not look like a changed file.
    private static func normalized(_ text: String) -> String {
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
