/// One statement of a script, and where it stands.
struct Statement: Equatable {
    /// The statement without its semicolon and without what precedes its first word.
    let text: String
    /// How many Unicode scalars of the script precede it.
    let offset: Int
    /// Its words outside quotes, comments and parentheses, in lower case, as far as they matter: at most six.
    let leadingWords: [String]
    /// How many Unicode scalars of the script precede the text within its first dollar quotes: a body of a function or of
    /// `DO`, whose lines the server counts from there.
    let bodyOffset: Int?

    /// The statements of a script, in order.
    static func all(in script: String) -> [Statement] {
        var scanner = StatementScanner(script)
        var statements: [Statement] = []
        while let statement = scanner.next() { statements.append(statement) }
        return statements
    }

    /// The command with which it would begin or end a transaction, in upper case; nil where it does neither.
    var transactionCommand: String? {
        switch leadingWords.first {
        case "begin", "start", "commit", "end", "rollback", "abort": leadingWords[0].uppercased()
        case "prepare" where leadingWords.dropFirst().first == "transaction": "PREPARE TRANSACTION"
        default: nil
        }
    }
}
