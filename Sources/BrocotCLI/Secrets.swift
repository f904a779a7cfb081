/// Keeps passwords out of what is printed.
enum Secrets {
    /// The text without URLs and without what follows `password=`. Messages about wrong arguments and settings repeat them, and they
    /// may be the database's URL, for example if the name of the option was forgotten.
    ///
    /// A password may contain spaces and quotes. So everything is left out from there to the end of the line, or to its last quote that may
    /// be the end of the argument.
    static func masked(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map(maskedLine).joined(separator: "\n")
    }

    private static func maskedLine(_ line: Substring) -> String {
        let starts = [afterScheme(in: line), afterPassword(in: line), beforeUser(in: line)].compactMap(\.self)
        guard let start = starts.min() else { return String(line) }
        let end = line.indices.last { $0 >= start && isEndOfArgument($0, in: line) } ?? line.endIndex
        return "\(line[..<start])…\(line[end...])"
    }

    /// The index behind `://`, if the letters before it can be the scheme of a URL.
    private static func afterScheme(in line: Substring) -> String.Index? {
        line.firstRange(of: "://").flatMap { range in
            line[..<range.lowerBound].last.map { $0.isLetter || $0.isNumber } == true ? range.upperBound : nil
        }
    }

    private static func afterPassword(in line: Substring) -> String.Index? {
        line.firstMatch(of: /(?i)password\s*=/)?.range.upperBound
    }

    /// The beginning of a word such as `user:password@host`, which is a URL without its scheme.
    private static func beforeUser(in line: Substring) -> String.Index? {
        let ends: Set<Character> = [" ", "\t", "'", "\""]
        guard let at = line.firstIndex(of: "@") else { return nil }
        let start = line[..<at].reversed().prefix { !ends.contains($0) }.endIndex.base
        let word = line[start..<at]
        return word.contains(":") && !word.contains("://") ? start : nil
    }

    /// Whether this is a quote that nothing follows in its line, or punctuation, or white space.
    private static func isEndOfArgument(_ index: String.Index, in line: Substring) -> Bool {
        guard line[index] == "'" || line[index] == "\"" else { return false }
        let next = line[line.index(after: index)...].first
        return next.map { $0.isWhitespace || ".,;:)".contains($0) } ?? true
    }
}
