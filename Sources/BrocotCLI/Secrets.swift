/// Keeps passwords out of what is printed.
enum Secrets {
    /// The text without URLs and without what follows `password=`. Messages about wrong arguments and settings repeat them, and they
    /// may be the database's URL, for example if the name of the option was forgotten.
    ///
    /// A password may contain spaces, quotes and line breaks. So everything is left out up to the quote that most likely ends the argument, or up to
    /// the end of the line if there is none.
    static func masked(_ text: String) -> String {
        var lines: [String] = []
        // Whether the last line ends within an argument whose beginning is left out.
        var isWithinArgument = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if isWithinArgument {
                guard let end = endOfArgument(in: line) else { continue }
                lines[lines.count - 1] += line[end...]
                isWithinArgument = false
            } else if let start = startOfSecret(in: line) {
                let end = endOfArgument(in: line[start...])
                lines.append("\(line[..<start])…\(line[(end ?? line.endIndex)...])")
                isWithinArgument = end == nil && line[..<start].contains { $0 == "'" || $0 == "\"" }
            } else {
                lines.append(String(line))
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func startOfSecret(in line: Substring) -> String.Index? {
        let password = line.firstMatch(of: /(?i)password\s*=/)?.range.upperBound
        return [afterScheme(in: line) ?? beforeUser(in: line), password].compactMap(\.self).min()
    }

    /// The index behind `://`, if the letters before it can be the scheme of a URL.
    private static func afterScheme(in line: Substring) -> String.Index? {
        line.firstRange(of: "://").flatMap { range in
            line[..<range.lowerBound].last.map { $0.isLetter || $0.isNumber } == true ? range.upperBound : nil
        }
    }

    /// The beginning of a word such as `user:password@host`, which is a URL without its scheme.
    private static func beforeUser(in line: Substring) -> String.Index? {
        guard let at = line.lastIndex(of: "@") else { return nil }
        let colon = line.indices.first { index in
            let next = line[line.index(after: index)...]
            return index < at && line[index] == ":" && next.first?.isWhitespace == false && !next.hasPrefix("//")
        }
        let separators: Set<Character> = [" ", "\t", "'", "\"", "/"]
        return colon.map { line[..<$0].reversed().prefix { !separators.contains($0) }.endIndex.base }
    }

    /// The quote that most likely ends the argument: the first one behind the host of a URL, and otherwise the last one of the line.
    private static func endOfArgument(in rest: Substring) -> String.Index? {
        if let at = rest.lastIndex(of: "@"), !rest[at...].lowercased().contains("password") {
            return rest[at...].indices.first { isEndOfArgument($0, in: rest) }
        }
        return rest.indices.last { isEndOfArgument($0, in: rest) }
    }

    /// Whether this is a quote that nothing follows in its line, or punctuation, or white space.
    private static func isEndOfArgument(_ index: String.Index, in line: Substring) -> Bool {
        guard line[index] == "'" || line[index] == "\"" else { return false }
        let next = line[line.index(after: index)...].first
        return next.map { $0.isWhitespace || ".,;:)".contains($0) } ?? true
    }
}
