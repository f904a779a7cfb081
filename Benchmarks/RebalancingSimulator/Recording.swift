import Foundation
import Subprocess

/// A recording of how a person edited a text.
struct Recording: Decodable {
    struct Patch: Decodable {
        let position: Int
        let deleted: Int
        /// The number of inserted code points, the unit of recordings.
        let inserted: Int

        init(position: Int, deleted: Int, inserted: Int) {
            self.position = position
            self.deleted = deleted
            self.inserted = inserted
        }

        init(from decoder: any Decoder) throws {
            var fields = try decoder.unkeyedContainer()
            position = try fields.decode(Int.self)
            deleted = try fields.decode(Int.self)
            inserted = try fields.decode(String.self).unicodeScalars.count
        }
    }

    private struct Transaction: Decodable {
        let patches: [Patch]
    }

    let patches: [Patch]

    private enum CodingKeys: CodingKey { case txns }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        patches = try fields.decode([Transaction].self, forKey: .txns).flatMap(\.patches)
    }

    /// Every recording in a folder, by name.
    static func all(in folder: String) async throws -> [(name: String, Recording)] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json.gz") }
        var recordings: [(name: String, Recording)] = []
        for name in names.sorted() {
            let unpacked = try await Subprocess.run(
                .name("gzip"), arguments: ["-dc", "\(folder)/\(name)"], output: .bytes(limit: 1 << 28))
            let recording = try JSONDecoder().decode(Recording.self, from: Data(unpacked.standardOutput))
            recordings.append((String(name.prefix { $0 != "." }), recording))
        }
        return recordings
    }
}
