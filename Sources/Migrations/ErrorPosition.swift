/// What a server tells about where in a statement an error arose.
struct ErrorPosition {
    /// In characters of the statement, from 1.
    var position: Int?
    /// In characters of `internalQuery`, from 1.
    var internalPosition: Int?
    /// A statement that the server ran by itself, such as one in the body of a function.
    var internalQuery: String?
    /// The calls that were under way, innermost first, one a line.
    var context: String?

    /// How many Unicode scalars of the script precede the place: as exact as the server's words allow, else where the
    /// statement begins.
    func offset(of statement: Statement, in script: String) -> Int {
        if let position { return statement.offset + position - 1 }
        guard let bodyOffset = statement.bodyOffset, let line = blockLines.last else { return statement.offset }
        let scalars = Array(script.unicodeScalars.prefix(statement.offset + statement.text.unicodeScalars.count))
        let lineStart = Self.start(ofLine: line, from: bodyOffset, in: scalars)
        if let place = internalPlace(from: lineStart, in: scalars) { return place }
        return scalars[lineStart...].firstIndex { $0 != " " && $0 != "\t" } ?? lineStart
    }

    /// The lines of `DO` blocks that were under way, counted from the opening quotes, innermost first. The server says
    /// them in its own language, but always as the first number after the block's name.
    private var blockLines: [Int] {
        (context ?? "").split(separator: "\n").compactMap { Self.blockLine(in: $0) }
    }

    private static func blockLine(in call: Substring) -> Int? {
        call.firstMatch(of: /inline_code_block\D*(\d+)/).flatMap { Int($0.1) }
    }

    /// Where the internal statement stands in the script, which it does only if the block itself ran it, literally.
    private func internalPlace(from start: Int, in scalars: [Unicode.Scalar]) -> Int? {
        guard let internalQuery, let internalPosition,
            let innermost = context?.split(separator: "\n").first, Self.blockLine(in: innermost) != nil
        else { return nil }
        let query = Array(internalQuery.unicodeScalars)
        guard !query.isEmpty, start + query.count <= scalars.count else { return nil }
        let found = (start...(scalars.count - query.count)).first {
            scalars[$0] == query[0] && scalars[$0...].starts(with: query)
        }
        return found.map { $0 + internalPosition - 1 }
    }

    private static func start(ofLine line: Int, from offset: Int, in scalars: [Unicode.Scalar]) -> Int {
        var start = offset
        for _ in 1..<max(line, 1) {
            guard let end = scalars[start...].firstIndex(of: "\n") else { return start }
            start = end + 1
        }
        return start
    }
}
