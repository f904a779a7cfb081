/// Text of others, made safe for a person's terminal or log file.
///
/// Keys, names of lists, and messages of the server may hold characters that move the cursor, change colours, begin a
/// line of their own, or turn the direction of what follows. JSON is for programs, and keeps every character.
extension String {
    /// The text on one line, with each character that can't be seen or that acts on a terminal written as an escape:
    /// `\n`, `\t`, `\r`, or its number, such as `\u{1B}`.
    var printable: String { escaped { Self.isPrintable($0) } }

    /// As ``printable``, but line feeds stay: for text of several lines that this program laid out.
    var printableLines: String { escaped { Self.isPrintable($0) || $0 == "\n" } }

    /// ``printable`` in quotation marks. Quotation marks and backslashes within get a backslash, so that the end can be
    /// seen and no text looks like an escape.
    var quoted: String {
        let inner = replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(inner.printable)\""
    }

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

    /// All but control characters, separators of lines and paragraphs, and format characters, among them those that turn
    /// the direction of text. The two joiners stay: emoji, Persian and Indian scripts are written with them.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
        default: true
        }
    }
}
