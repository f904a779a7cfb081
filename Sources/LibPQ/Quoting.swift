/// Quotes a name for SQL: in double quotes, upper case and spaces are kept, and no name is taken for a keyword. This is
/// the only function that quotes names.
///
/// The server truncates a name of more than 63 bytes. A NUL character is refused when the statement is sent.
package func quoteIdentifier(_ name: String) -> String {
    quote(name, with: "\"")
}

/// Quotes a text as an SQL literal, for statements that accept no parameters, and for values that the planner must know. Prefer a bound
/// parameter.
///
/// The result is correct with any value of `standard_conforming_strings`: text with a backslash becomes an `E''` literal.
package func quoteLiteral(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "\\")) else { return quote(text, with: "'") }
    var doubled = ""
    for scalar in text.unicodeScalars {
        if scalar == "\\" { doubled.unicodeScalars.append(scalar) }
        doubled.unicodeScalars.append(scalar)
    }
    // The space separates the E from a word before it.
    return " E" + quote(doubled, with: "'")
}

/// Works on Unicode scalars, not on characters: a quote with a combining accent is one character of two scalars, and the
/// server sees the quote.
private func quote(_ text: String, with mark: Unicode.Scalar) -> String {
    var quoted = String.UnicodeScalarView([mark])
    for scalar in text.unicodeScalars {
        if scalar == mark { quoted.append(mark) }
        quoted.append(scalar)
    }
    quoted.append(mark)
    return String(quoted)
}

/// The text of a literal as ``quoteLiteral(_:)`` writes it.
///
/// - Parameters:
///   - start: Where the literal begins.
///   - sql: The text that contains it.
/// - Returns: The text; nil if there is no literal at this place.
package func unquotedLiteral(at start: String.Index, of sql: String) -> String? {
    var rest = sql.unicodeScalars[start...]
    let isEscaped = rest.starts(with: " E'".unicodeScalars)
    rest = rest.dropFirst(isEscaped ? " E".unicodeScalars.count : 0)
    guard rest.popFirst() == "'" else { return nil }
    var text = String.UnicodeScalarView()
    while let scalar = rest.popFirst() {
        if scalar == "'" && rest.first != "'" { return String(text) }
        // Skips the second of two equal characters, which stand for one.
        if scalar == "'" || isEscaped && scalar == "\\" { _ = rest.popFirst() }
        text.append(scalar)
    }
    return nil
}

/// Commands in messages, such as those of psql.
extension String {
    /// The text as one word of a shell. It is quoted unless it consists of letters, digits, dots, underscores, slashes and inner hyphens of
    /// ASCII.
    package var quotedForShell: String {
        wholeMatch(of: /[A-Za-z0-9._\/][A-Za-z0-9._\/\-]*/) != nil ? self : "'" + replacing("'", with: #"'\''"#) + "'"
    }
}
