/// Makes a script safe for a terminal without changing what it does.
///
/// Names of tables, columns and roles may contain any character. In quoted names and literals, those that ``Swift/String/printable``
/// escapes become escapes of SQL: `U&"\001B"` and `E'\u001B'`.
extension String {
    var printableSQL: String {
        guard self.printableLines != self || self.contains("\n") else { return self }
        var (result, rest) = ("", Substring(self).unicodeScalars[...])
        while let scalar = rest.first {
            if scalar == "\"" {
                let name = Self.quotedText(&rest)
                result += Self.name(name)
            } else if scalar == "'" {
                // quoteLiteral writes a space and an E before a literal with escapes. An E without the space is the end of a name.
                let isEscaped = result.hasSuffix(" E")
                let text = Self.quotedText(&rest)
                if isEscaped { result.removeLast() }
                let keepsLines = result.hasSuffix(" AS ") || result.hasSuffix(" AS  ")
                result += Self.literal(text, isEscaped: isEscaped, keepsLines: keepsLines)
            } else {
                result += scalar == "\n" ? "\n" : String(scalar).printable
                rest.removeFirst()
            }
        }
        return result
    }

    /// Removes a quoted text from the beginning, with its quotation marks. Marks within it are doubled.
    private static func quotedText(_ rest: inout Substring.UnicodeScalarView) -> String {
        let mark = rest.removeFirst()
        var text = ""
        while let scalar = rest.popFirst() {
            guard scalar == mark else {
                text.unicodeScalars.append(scalar)
                continue
            }
            guard rest.first == mark else { break }
            rest.removeFirst()
            text.unicodeScalars.append(contentsOf: [mark, mark])
        }
        return text
    }

    private static func name(_ text: String) -> String {
        guard text.printable != text else { return "\"\(text)\"" }
        var escaped = ""
        for scalar in text.unicodeScalars {
            if scalar == "\\" {
                escaped += "\\\\"
            } else if String(scalar).printable == String(scalar) {
                escaped.unicodeScalars.append(scalar)
            } else {
                escaped += scalar.value > 0xFFFF ? "\\+\(hex(scalar, 6))" : "\\\(hex(scalar, 4))"
            }
        }
        return "U&\"\(escaped)\""
    }

    private static func literal(_ text: String, isEscaped: Bool, keepsLines: Bool) -> String {
        // Within the body of a function, names and literals have no line feeds either. A literal's marks are doubled there.
        var (isInName, isInText, marks) = (false, false, 0)
        var (escaped, isChanged) = ("", false)
        for scalar in text.unicodeScalars {
            if scalar == "\"", !isInText { isInName.toggle() }
            if scalar == "'", !isInName {
                marks += 1
                if marks.isMultiple(of: 2) { isInText.toggle() }
            }
            let isKept =
                keepsLines && scalar == "\n" && !isInName && !isInText || String(scalar).printable == String(scalar)
            isChanged = isChanged || !isKept
            if scalar == "\\", !isEscaped {
                escaped += "\\\\"
            } else if isKept {
                escaped.unicodeScalars.append(scalar)
            } else {
                escaped += scalar.value > 0xFFFF ? "\\U\(hex(scalar, 8))" : "\\u\(hex(scalar, 4))"
            }
        }
        return isChanged ? " E'\(escaped)'" : (isEscaped ? "E" : "") + "'\(text)'"
    }

    private static func hex(_ scalar: Unicode.Scalar, _ length: Int) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return String(repeating: "0", count: Swift.max(0, length - digits.count)) + digits
    }
}
