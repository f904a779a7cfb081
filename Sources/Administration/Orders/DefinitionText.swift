/// Compares the definition of a constraint or trigger that `brocot attach` writes with the one that the server prints. Pure.
///
/// The server prints what it has parsed: with more parentheses and casts, and with fewer quotes and schemas. Both texts lose all of these.
/// What is left names the same columns, functions, operators, constants and keywords in the same order.
enum DefinitionText {
    /// For example, `CHECK ((gcd("rank_num", rank_den) = 1::bigint))` is reduced to `checkgcdrank_num,rank_den=1`.
    static func areEqual(_ one: String, _ other: String) -> Bool {
        // Making the regular expression takes as long as using it, so both texts share one.
        let part =
            /(?<name>"(?:[^"]|"")*")|(?<constant>E?'(?:[^']|'')*')|(?<cast>::(?:"(?:[^"]|"")*"|[\w.])+(?:\([\d,]+\))?)|(?<other>\bpg_catalog\.|OPERATOR\(|\bROW\b|[\s()])/
            .matchingSemantics(.unicodeScalar)
        return reduced(one, by: part) == reduced(other, by: part)
    }

    private typealias Part = Regex<
        (Substring, name: Substring?, constant: Substring?, cast: Substring?, other: Substring?)
    >

    private static func reduced(_ text: String, by part: Part) -> String {
        text.replacing(part) { match -> String in
            if let name = match.output.name { return String(name.dropFirst().dropLast()) }
            // A backslash is doubled, or not, depending on a setting of the session.
            if let constant = match.output.constant {
                return String(constant.drop { $0 == "E" }.dropFirst().dropLast().replacing("\\", with: ""))
            }
            return ""
        }.lowercased()
    }
}
