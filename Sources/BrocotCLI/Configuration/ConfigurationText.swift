import FoundationEssentials

/// The text of a configuration file, for the places that messages name. FoundationEssentials' JSON decoder tells no line, and
/// keeps one of two equal keys.
struct ConfigurationText {
    /// A place in the text, printed as `line:column`, each counted from 1.
    struct Position: CustomStringConvertible {
        let line: Int
        let column: Int

        var description: String { "\(line):\(column)" }
    }

    private let text: String

    init(_ text: String) {
        self.text = text
    }

    var isEmpty: Bool { text.allSatisfy(\.isWhitespace) }

    /// The keys of a valid object without objects in it, in their order: the texts that a colon follows. ``position(of:)`` tells where they are.
    var keys: [(name: String, index: String.Index)] {
        text.matches(of: /("(?:[^"\\]|\\.)*")(\s*:)?/).filter { $0.2 != nil }.map { match in
            let name = try? JSONDecoder().decode(String.self, from: Data(match.1.utf8))
            return (name ?? String(match.1), match.range.lowerBound)
        }
    }

    /// The first place where the text can't be an object of texts and numbers; nil if this is not known.
    var fault: (position: Position, reason: String)? {
        var rest = text[...].drop(while: \.isWhitespace)
        func fault(_ reason: String) -> (Position, String) { (position(of: rest.startIndex), reason) }
        /// Consumes what the text goes on with, and the white space behind it.
        func skip(_ part: Regex<Substring>) -> Bool {
            guard let match = rest.prefixMatch(of: part) else { return false }
            rest = rest[match.range.upperBound...].drop(while: \.isWhitespace)
            return true
        }
        guard skip(/\{/) else { return fault("expected {") }
        while !skip(/\}/) {
            guard skip(/"(?:[^"\\]|\\.)*"/) else {
                return fault(rest.isEmpty ? "the closing } is missing" : "expected a key in quotation marks")
            }
            guard skip(/:/) else { return fault("expected : after the key") }
            guard skip(/"(?:[^"\\]|\\.)*"|(?:-?[0-9][0-9.eE+\-]*|true|false|null)(?![0-9A-Za-z_.])/) else {
                return fault("expected text in quotation marks or a number")
            }
            guard skip(/,/) || rest.hasPrefix("}") else {
                return fault(rest.isEmpty ? "the closing } is missing" : "expected , or }")
            }
        }
        return rest.isEmpty ? nil : fault("expected nothing after the closing }")
    }

    /// Reads the text up to this index.
    func position(of index: String.Index) -> Position {
        let before = text[..<index]
        let line = before.count { $0.isNewline } + 1
        return Position(line: line, column: before.reversed().prefix { !$0.isNewline }.count + 1)
    }
}
