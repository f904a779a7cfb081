/// One statement of a script, with its place.
struct Statement: Equatable {
    /// The statement, from its first word up to its semicolon, which isn't included.
    let text: String
    /// The number of Unicode scalars of the script before the statement.
    let offset: Int
    /// The first words outside quotes, comments and parentheses, in lower case: at most six.
    let leadingWords: [String]
    /// The number of Unicode scalars of the script before the text in the statement's first dollar quotes. That text is the
    /// body of a function or of `DO`, and the server counts its lines from there.
    let bodyOffset: Int?

    /// The number of Unicode scalars of the script before the statement's semicolon, or of the whole script if there is none.
    var end: Int { offset + text.unicodeScalars.count }

    /// The statements of a script, in order.
    static func all(in script: String) -> [Statement] {
        var scanner = StatementScanner(script)
        var statements: [Statement] = []
        while let statement = scanner.next() { statements.append(statement) }
        return statements
    }

    /// Whether the statement is a COPY that takes data from the client, or gives data to it.
    var copiesThroughClient: Bool {
        leadingWords.first == "copy"
            && zip(leadingWords, leadingWords.dropFirst()).contains { direction, end in
                ["from", "to"].contains(direction) && ["stdin", "stdout"].contains(end)
            }
    }

    /// The command in upper case, if the statement begins or ends a transaction; nil otherwise.
    var transactionCommand: String? {
        switch leadingWords.first {
        case "begin", "start", "commit", "end", "rollback", "abort": leadingWords[0].uppercased()
        case "prepare" where leadingWords.dropFirst().first == "transaction": "PREPARE TRANSACTION"
        default: nil
        }
    }
}
