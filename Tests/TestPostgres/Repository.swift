import FoundationEssentials

/// The files of the repository that the tests were built from.
package enum Repository {
    /// Where it is.
    package static let folder = URL(filePath: #filePath).appending(path: "../../..").standardized.path

    /// The text of a file, which is named like `docs/sql.md`.
    package static func text(of name: String) throws -> String {
        try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
    }
}
