/// Makes text from outside safe for a terminal or a log file.
///
/// Keys, names of lists, and messages of the server may contain characters that move the cursor, change colours, begin a new line,
/// or change the direction of the following text. JSON is for programs and keeps every character.
extension String {
    /// The text on one line. Each character that is invisible or has an effect on a terminal is written as an escape: `\n`, `\t`,
    /// `\r`, or its number, such as `\u{1B}`.
    var printable: String { escaped { Self.isPrintable($0) } }

    /// The same as ``printable``, but line feeds stay. This is for text of several lines that this program formats.
    var printableLines: String { escaped { Self.isPrintable($0) || $0 == "\n" } }

    /// ``printable`` in quotation marks. Quotation marks and backslashes in the text get a backslash, so that the end of the text
    /// is visible and no text looks like an escape.
    var quoted: String {
        // Scalars, because a quotation mark and a combining accent after it are one character.
        var inner = UnicodeScalarView()
        for scalar in unicodeScalars {
            if scalar == "\\" || scalar == "\"" { inner.append("\\") }
            inner.append(scalar)
        }
        return "\"\(String(inner).printable)\""
    }

    /// A name in text for people: in quotation marks if it is empty or contains unprintable characters.
    var quotedIfUnprintable: String { !isEmpty && printable == self ? self : quoted }

    private func escaped(unless isAllowed: (Unicode.Scalar) -> Bool) -> String {
        guard !unicodeScalars.allSatisfy(isAllowed) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            switch scalar {
            case _ where isAllowed(scalar): text.unicodeScalars.append(scalar)
            case "\n": text += "\\n"
            case "\t": text += "\\t"
            case "\r": text += "\\r"
            default: text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return text
    }

    /// Whether a character is printed unchanged. Control characters, separators of lines and paragraphs, and format characters
    /// (which include those that change the direction of text) are not. The two joiners are printed, because emoji, Persian and
    /// Indian scripts need them.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
        default: true
        }
    }
}
