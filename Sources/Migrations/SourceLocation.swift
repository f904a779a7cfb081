/// A place in a migration's file: path, line and column.
package struct SourceLocation: Sendable, Equatable, CustomStringConvertible {
    package let path: String
    /// The line, counted from 1.
    package let line: Int
    /// The character in the line, counted from 1.
    package let column: Int
    /// The text of the line.
    private let lineText: String

    /// `offset` is the number of Unicode scalars before the place. An offset beyond the text means the end of the text.
    init(path: String, text: String, offset: Int) {
        let scalars = text.unicodeScalars
        let place = scalars.index(scalars.startIndex, offsetBy: offset, limitedBy: scalars.endIndex) ?? scalars.endIndex
        let preceding = scalars[..<place]
        let lineStart = preceding.lastIndex(of: "\n").map { scalars.index(after: $0) } ?? scalars.startIndex
        let lineEnd = scalars[place...].firstIndex(of: "\n") ?? scalars.endIndex
        self.path = path
        line = preceding.count { $0 == "\n" } + 1
        column = String(scalars[lineStart..<place]).count + 1
        lineText = String(scalars[lineStart..<lineEnd])
    }

    /// `file:line:column`, which many editors show as a link.
    package var description: String { "\(path):\(line):\(column)" }

    /// The line, or 200 characters of it, and on the next line a caret below the place.
    package var excerpt: String {
        let number = "\(line)"
        let (text, place) = lineText.excerpt(around: column - 1, length: 200)
        // Tabs are copied, so that the caret is below its character with every width of a tab.
        let indentation = text.prefix(place).map { $0 == "\t" ? "\t" : " " }.joined()
        let margin = String(repeating: " ", count: number.count)
        // One character stands for one, so that the caret is below its character.
        let shown = String(text.map { Self.isInvisible($0) ? "\u{FFFD}" : $0 })
        return " \(number) | \(shown)\n \(margin) | \(indentation)^"
    }

    /// Whether the character has no shape of its own, so that the program would print an escape for it.
    private static func isInvisible(_ character: Character) -> Bool {
        guard character != "\t", let scalar = character.unicodeScalars.first, character.unicodeScalars.count == 1 else {
            return false
        }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
