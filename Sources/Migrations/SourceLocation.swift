/// A place in a migration's file, as people and editors name it.
package struct SourceLocation: Sendable, Equatable, CustomStringConvertible {
    package let path: String
    /// From 1.
    package let line: Int
    /// In characters, from 1.
    package let column: Int
    /// The text of the line.
    package let lineText: String

    /// `offset` is how many Unicode scalars of the text precede the place. One beyond the text means its end.
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

    /// `file:line:column`, which editors make a link.
    package var description: String { "\(path):\(line):\(column)" }

    /// The line, and below it a caret under the place.
    package var excerpt: String {
        let number = "\(line)"
        // Tabs stay tabs, so that the caret comes to stand below its character however wide they are.
        let indentation = lineText.prefix(column - 1).map { $0 == "\t" ? "\t" : " " }.joined()
        let margin = String(repeating: " ", count: number.count)
        return " \(number) | \(lineText)\n \(margin) | \(indentation)^"
    }
}
