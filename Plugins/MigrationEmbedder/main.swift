#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// Arguments: the Swift file to write, then the files whose text it will contain.
let arguments = CommandLine.arguments.dropFirst().map { URL(filePath: $0) }
guard let output = arguments.first else {
    fatalError("usage: MigrationEmbedder OUTPUT.swift FILE.sql …")
}
let entries = try arguments.dropFirst().map { file in
    let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    // A string's debug description is a literal that the compiler reads as the same string.
    return "        (name: \(file.lastPathComponent.debugDescription), text: \(text.debugDescription)),\n"
}
let source = """
    enum EmbeddedMigrations {
        static let files: [(name: String, text: String)] = [
    \(entries.joined())    ]
    }

    """
try Data(source.utf8).write(to: output, options: .atomic)
