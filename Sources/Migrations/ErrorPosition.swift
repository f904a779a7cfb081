internal import LibPQ

/// The place of the server's error in a statement.
struct ErrorPosition {
    let error: PostgresError

    /// The offset of the error in the script, in Unicode scalars. If the server reports no place, it is the offset of the
    /// statement.
    func offset(of statement: Statement, in script: String) -> Int {
        if let position = error.position { return statement.offset + position - 1 }
        guard let bodyOffset = statement.bodyOffset, let line = blockLines.last else { return statement.offset }
        let scalars = Array(script.unicodeScalars.prefix(statement.end))
        let lineStart = Self.start(ofLine: line, from: bodyOffset, in: scalars)
        if let place = internalPlace(from: lineStart, in: scalars) { return place }
        return scalars[lineStart...].firstIndex { $0 != " " && $0 != "\t" } ?? lineStart
    }

    /// The lines of the running `DO` blocks, counted from the opening quotes, innermost first. The server's text is in its
    /// own language, but the line is always the first number after the block's name.
    private var blockLines: [Int] {
        (error.context ?? "").split(separator: "\n").compactMap { Self.blockLine(in: $0) }
    }

    private static func blockLine(in call: Substring) -> Int? {
        call.firstMatch(of: /inline_code_block\D*(\d+)/).flatMap { Int($0.1) }
    }

    /// The place of the internal statement in the script; nil if the script does not contain its exact text.
    private func internalPlace(from start: Int, in scalars: [Unicode.Scalar]) -> Int? {
        guard let internalQuery = error.internalQuery, let internalPosition = error.internalPosition,
            let innermost = error.context?.split(separator: "\n").first, Self.blockLine(in: innermost) != nil
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
