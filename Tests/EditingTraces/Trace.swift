import Foundation
import Subprocess

/// A recording of how a person edited a text: at a position, some characters are deleted, and then others are inserted.
/// A character is a code point.
package struct Trace: Decodable, Sendable {
    package struct Patch: Decodable, Sendable {
        package let position: Int
        package let deleted: Int
        package let inserted: String.UnicodeScalarView

        package init(from decoder: any Decoder) throws {
            var fields = try decoder.unkeyedContainer()
            position = try fields.decode(Int.self)
            deleted = try fields.decode(Int.self)
            inserted = try fields.decode(String.self).unicodeScalars
        }
    }

    private struct Transaction: Decodable {
        let patches: [Patch]
    }

    package let patches: [Patch]
    package let endContent: String

    private enum CodingKeys: CodingKey { case startContent, endContent, txns }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        let start = try fields.decode(String.self, forKey: .startContent)
        guard start.isEmpty else {
            throw DecodingError.dataCorruptedError(
                forKey: .startContent, in: fields, debugDescription: "a recording begins with an empty text")
        }
        endContent = try fields.decode(String.self, forKey: .endContent)
        patches = try fields.decode([Transaction].self, forKey: .txns).flatMap(\.patches)
    }

    private init(patches: [Patch]) {
        self.patches = patches
        var text: [Unicode.Scalar] = []
        for patch in patches {
            text.replaceSubrange(patch.position..<(patch.position + patch.deleted), with: patch.inserted)
        }
        endContent = String(String.UnicodeScalarView(text))
    }

    /// The recording's first patches, at most this many.
    package func beginning(_ count: Int) -> Trace { Trace(patches: Array(patches.prefix(count))) }

    /// Where recordings are kept: `BROCOT_TRACES`, else beside the checkout. They are not part of this project.
    package static let directory: URL? = {
        let beside = URL(filePath: #filePath).appending(path: "../../../../shared/traces").standardized.path
        let path = ProcessInfo.processInfo.environment["BROCOT_TRACES"] ?? beside
        return FileManager.default.fileExists(atPath: path) ? URL(filePath: path) : nil
    }()

    /// The recordings in the folder.
    package static let names: [String] = {
        let files = directory.flatMap { try? FileManager.default.contentsOfDirectory(atPath: $0.path) } ?? []
        return files.filter { $0.hasSuffix(".json.gz") }.map { String($0.dropLast(".json.gz".count)) }.sorted()
    }()

    package static func load(_ name: String) async throws -> Trace {
        guard let directory else { throw CocoaError(.fileNoSuchFile) }
        let unpacked = try await Subprocess.run(
            .name("gzip"), arguments: ["-dc", directory.appending(path: "\(name).json.gz").path],
            output: .bytes(limit: 1 << 28))
        return try JSONDecoder().decode(Trace.self, from: Data(unpacked.standardOutput))
    }
}
