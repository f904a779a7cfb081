/// Splits a script at the semicolons that end statements: the semicolons outside quotes, comments, parentheses and
/// `BEGIN ATOMIC … END` bodies of routines.
///
/// The rules are those of psql's lexer, with `standard_conforming_strings = on`, and for a text that continues on a later line those of the
/// server. A quote or comment without an end extends to the end of the script, and is a statement or a part of one, so that the server
/// reports the error.
struct StatementScanner {
    private let scalars: [Unicode.Scalar]
    private var offset = 0

    init(_ script: String) {
        scalars = Array(script.unicodeScalars)
    }

    /// What the scanner has read of the current statement.
    private struct UnfinishedStatement {
        var start: Int?
        var words: [String] = []
        var bodyOffset: Int?
        var parentheses = 0
        var atomicBlocks = 0

        /// Whether the statement creates a routine, which may have a body of several statements.
        var definesRoutine: Bool {
            let words = words.first == "create" ? words.dropFirst() : []
            let kind = words.starts(with: ["or", "replace"]) ? words.dropFirst(2).first : words.first
            return kind == "function" || kind == "procedure"
        }

        mutating func note(word: String) {
            if parentheses == 0, words.count < 6 { words.append(word) }
            guard parentheses == 0, definesRoutine else { return }
            switch word {
            case "begin": atomicBlocks += 1
            case "case" where atomicBlocks > 0: atomicBlocks += 1
            case "end" where atomicBlocks > 0: atomicBlocks -= 1
            default: break
            }
        }
    }

    /// The next statement, or nil at the end.
    mutating func next() -> Statement? {
        var unfinished = UnfinishedStatement()
        while let scalar = peek() {
            if scalar == ";", unfinished.parentheses == 0, unfinished.atomicBlocks == 0 {
                let end = offset
                offset += 1
                if let statement = statement(unfinished, upTo: end) { return statement }
                unfinished = UnfinishedStatement()
                continue
            }
            if Self.isSpace(scalar) {
                offset += 1
            } else if scalar == "-", peek(1) == "-" {
                skipLine()
            } else if scalar == "/", peek(1) == "*" {
                let start = offset
                if !skipBlockComment(), unfinished.start == nil { unfinished.start = start }
            } else {
                if unfinished.start == nil { unfinished.start = offset }
                scanToken(scalar, &unfinished)
            }
        }
        return statement(unfinished, upTo: offset)
    }

    private func statement(_ unfinished: UnfinishedStatement, upTo end: Int) -> Statement? {
        guard let start = unfinished.start else { return nil }
        return Statement(
            text: text(start..<end), offset: start, leadingWords: unfinished.words, bodyOffset: unfinished.bodyOffset)
    }

    private mutating func scanToken(_ scalar: Unicode.Scalar, _ unfinished: inout UnfinishedStatement) {
        switch scalar {
        case "'": skipQuoted("'", backslashes: false)
        case "\"": skipQuoted("\"", backslashes: false)
        case "$":
            let body = skipDollarQuoted()
            if unfinished.bodyOffset == nil { unfinished.bodyOffset = body }
        case "(":
            unfinished.parentheses += 1
            offset += 1
        case ")":
            unfinished.parentheses = max(0, unfinished.parentheses - 1)
            offset += 1
        case _ where Self.beginsWord(scalar):
            let word = scanWord()
            if word == "e", peek() == "'" {
                repeat { skipQuoted("'", backslashes: true) } while skipToContinuation()
            } else {
                unfinished.note(word: word)
            }
        default: offset += 1
        }
    }

    private mutating func scanWord() -> String {
        let start = offset
        while let scalar = peek(), Self.beginsWord(scalar) || Self.isDigit(scalar) || scalar == "$" { offset += 1 }
        return text(start..<offset).lowercased()
    }

    /// Skips a quoted text. A doubled quote is treated as the end of one text and the beginning of the next, which gives the
    /// same result.
    private mutating func skipQuoted(_ quote: Unicode.Scalar, backslashes: Bool) {
        offset += 1
        while let scalar = peek() {
            offset += 1
            if scalar == "\\", backslashes {
                offset = min(offset + 1, scalars.count)
            } else if scalar == quote {
                guard backslashes, peek() == quote else { return }
                offset += 1
            }
        }
    }

    /// Skips white space and comments that contain a line feed, if another quote comes after them: it continues the text.
    private mutating func skipToContinuation() -> Bool {
        let start = offset
        while let scalar = peek(), Self.isSpace(scalar) || scalar == "-" && peek(1) == "-" {
            if scalar == "-" { skipLine() } else { offset += 1 }
        }
        if peek() == "'", scalars[start..<offset].contains(where: Self.endsLine) { return true }
        offset = start
        return false
    }

    /// Skips a dollar-quoted text and returns the offset of its beginning; nil if the dollar sign is no quote, as in `$1`.
    private mutating func skipDollarQuoted() -> Int? {
        var end = offset + 1
        while end < scalars.count, Self.beginsWord(scalars[end]) || (end > offset + 1 && Self.isDigit(scalars[end])) {
            end += 1
        }
        guard end < scalars.count, scalars[end] == "$" else {
            offset += 1
            return nil
        }
        let tag = scalars[offset...end]
        let body = end + 1
        offset = body
        while offset < scalars.count, scalars[offset] != "$" || !scalars[offset...].starts(with: tag) { offset += 1 }
        offset = min(offset + tag.count, scalars.count)
        return body
    }

    /// - Returns: Whether the comment has an end.
    private mutating func skipBlockComment() -> Bool {
        var depth = 0
        while let scalar = peek() {
            if scalar == "/", peek(1) == "*" {
                depth += 1
                offset += 2
            } else if scalar == "*", peek(1) == "/" {
                depth -= 1
                offset += 2
                if depth == 0 { return true }
            } else {
                offset += 1
            }
        }
        return false
    }

    /// Skips what is left of the line.
    private mutating func skipLine() {
        while let scalar = peek(), !Self.endsLine(scalar) { offset += 1 }
    }

    private func peek(_ distance: Int = 0) -> Unicode.Scalar? {
        offset + distance < scalars.count ? scalars[offset + distance] : nil
    }

    private func text(_ range: Range<Int>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars[range])
        return String(view)
    }

    private static func beginsWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "_": true
        default: scalar.value >= 0x80
        }
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || ("\t"..."\r").contains(scalar)
    }

    private static func endsLine(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\n" || scalar == "\r"
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool {
        ("0"..."9").contains(scalar)
    }
}
