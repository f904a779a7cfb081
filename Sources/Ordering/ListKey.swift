import FoundationEssentials

/// Keys of lists with several columns: a JSON array of texts in the format of jsonb, as `brocot.list_key` returns it.
enum ListKey {
    /// The texts in the key; nil if the key does not have exactly the format of jsonb, or if a text has a NUL character, which no text in
    /// PostgreSQL can have.
    static func parts(of key: String) -> [String]? {
        guard let parts = try? JSONDecoder().decode([String].self, from: Data(key.utf8)),
            !parts.contains(where: { $0.utf8.contains(0) }), ExactText(self.key(of: parts)) == ExactText(key)
        else { return nil }
        return parts
    }

    /// The key of the list with these texts.
    static func key(of parts: [String]) -> String {
        "[" + parts.map { "\"" + escaped($0) + "\"" }.joined(separator: ", ") + "]"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": escaped += "\\\""
            case "\\": escaped += "\\\\"
            case "\u{8}": escaped += "\\b"
            case "\u{C}": escaped += "\\f"
            case "\n": escaped += "\\n"
            case "\r": escaped += "\\r"
            case "\t": escaped += "\\t"
            case ..<" ":
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
