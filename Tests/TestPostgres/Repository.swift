import FoundationEssentials

/// The files of the repository that the tests were built from.
package enum Repository {
    /// Where it is.
    package static let folder = URL(filePath: #filePath).appending(path: "../../..").standardized.path

    /// The text of a file, which is named like `docs/sql.md`.
    package static func text(of name: String) throws -> String {
        try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
    }

    /// The SQL of a section of a page such as `docs/sql.md`, one text for each block. There is none if there is no such section.
    ///
    /// - Parameters:
    ///   - title: The section's title.
    ///   - page: The page's name.
    /// - Returns: The blocks, in their order.
    /// - Throws: An error if there is no such page.
    package static func statements(ofSection title: String, in page: String) throws -> [String] {
        try code(in: "sql", ofSection: title, in: page)
    }

    /// The code in a language of a section of a page, one text for each block. There is none if there is no such section.
    ///
    /// - Parameters:
    ///   - language: The language, as the page names it.
    ///   - title: The section's title.
    ///   - page: The page's name.
    /// - Returns: The blocks, in their order.
    /// - Throws: An error if there is no such page.
    package static func code(in language: String, ofSection title: String, in page: String) throws -> [String] {
        let text = try text(of: page)
        guard let start = text.firstRange(of: "\n## \(title)\n") else { return [] }
        let rest = text[start.upperBound...]
        let section = rest[..<(rest.firstRange(of: "\n## ")?.lowerBound ?? rest.endIndex)]
        return section.split(separator: "```\(language)\n", omittingEmptySubsequences: false).dropFirst().map { part in
            String(part[..<(part.firstRange(of: "```")?.lowerBound ?? part.endIndex)])
        }
    }
}
