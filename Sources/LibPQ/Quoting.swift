/// The name as SQL reads it back: in double quotes, so that case and spaces stay and no name is a keyword. The only
/// place that quotes names.
///
/// The server cuts a name longer than 63 bytes; a NUL character is refused when the statement is sent.
package func quoteIdentifier(_ name: String) -> String {
    quote(name, with: "\"")
}

/// The text as a literal of SQL, for statements that take no parameters. Where a parameter can be bound, bind it.
///
/// Right whatever `standard_conforming_strings` says: text with a backslash becomes an `E''` literal.
package func quoteLiteral(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "\\")) else { return quote(text, with: "'") }
    var doubled = ""
    for scalar in text.unicodeScalars {
        if scalar == "\\" { doubled.unicodeScalars.append(scalar) }
        doubled.unicodeScalars.append(scalar)
    }
    // The space keeps the E apart from a word before it.
    return " E" + quote(doubled, with: "'")
}

/// By Unicode scalars, not characters: a quote with a combining accent is one character and two scalars, and the server
/// sees the quote.
private func quote(_ text: String, with mark: Unicode.Scalar) -> String {
    var quoted = String.UnicodeScalarView([mark])
    for scalar in text.unicodeScalars {
        if scalar == mark { quoted.append(mark) }
        quoted.append(scalar)
    }
    quoted.append(mark)
    return String(quoted)
}
