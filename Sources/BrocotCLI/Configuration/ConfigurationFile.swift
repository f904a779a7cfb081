import Configuration
import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A configuration file: one JSON object, without objects or arrays in it.
///
/// The file is not read with swift-configuration's own provider for JSON files, because that provider doesn't show its
/// keys, so that unknown keys could not be refused. It also needs all of Foundation, which would make the static binary
/// larger.
struct ConfigurationFile {
    let path: String
    let values: [String: ConfigValue]

    private static let example = #"a JSON object such as {"workers": 4, "log_level": "info"}"#

    /// - Throws: ``CommandFailure`` `.usage` if the file can't be read, or contains an unknown key, a key twice, or a value of the
    ///   wrong kind.
    init(path: String, knownKeys: [String], textKeys: Set<String>) throws(CommandFailure) {
        self.path = path
        let data = try Self.read(path)
        guard let content = String(validating: data, as: UTF8.self), !content.utf8.contains(0) else {
            throw CommandFailure(.usage, "The configuration file \(path) is not text in UTF-8. Save it as UTF-8.")
        }
        let text = ConfigurationText(content)
        let scalars = try Self.scalars(in: data, text, path, knownKeys: knownKeys)
        var known: Set<String> = []
        for (key, index) in text.keys {
            guard knownKeys.contains(key) else {
                throw Self.unknown(key, "\(path):\(text.position(of: index))", knownKeys)
            }
            guard known.insert(key).inserted else {
                throw CommandFailure(
                    .usage, "\(path):\(text.position(of: index)): \(key) is given twice. Remove one of the two.")
            }
        }
        var values: [String: ConfigValue] = [:]
        for (key, scalar) in scalars.sorted(by: { $0.key < $1.key }) {
            switch scalar {
            case .text(let value) where textKeys.contains(key):
                values[key] = ConfigValue(.string(value), isSecret: true)
            case .number(let value) where !textKeys.contains(key):
                values[key] = ConfigValue(.string(value), isSecret: false)
            case .null:
                throw CommandFailure(.usage, "\(key) in \(path) is null; leave the key out for the default.")
            case .text, .number:
                let kind = textKeys.contains(key) ? "text in quotation marks" : "a number"
                throw CommandFailure(.usage, "\(key) in \(path) must be \(kind).")
            }
        }
        self.values = values
    }

    /// The most bytes of a file: some thousand times those of all settings.
    private static let mostBytes = 1 << 20

    /// Reads a file or a pipe, such as that of `<(…)` in a shell. Foundation refuses to read a pipe.
    private static func read(_ path: String) throws(CommandFailure) -> Data {
        guard let file = fopen(path, "r") else { throw unreadable(path, errno) }
        defer { fclose(file) }
        var data = Data()
        var part = [UInt8](repeating: 0, count: 4_096)
        while case let count = fread(&part, 1, part.count, file), count > 0 {
            data.append(contentsOf: part[..<count])
            guard data.count <= mostBytes else { throw unreadable(path, "it has more than \(mostBytes) bytes") }
        }
        guard ferror(file) == 0 else { throw unreadable(path, errno) }
        return data
    }

    private static func unreadable(_ path: String, _ error: Int32) -> CommandFailure {
        unreadable(path, String(cString: strerror(error)))
    }

    private static func unreadable(_ path: String, _ reason: String) -> CommandFailure {
        CommandFailure(.usage, "The configuration file \(path) can't be read: \(reason). See --config.")
    }

    private static func scalars(
        in data: Data, _ text: ConfigurationText, _ path: String, knownKeys: [String]
    ) throws(CommandFailure) -> [String: Scalar] {
        do {
            return try JSONDecoder().decode([String: Scalar].self, from: data)
        } catch DecodingError.typeMismatch(_, let context) where !context.codingPath.isEmpty {
            let key = context.codingPath[0].stringValue
            guard knownKeys.contains(key) else {
                throw unknown(
                    key, text.keys.first { $0.name == key }.map { "\(path):\(text.position(of: $0.index))" } ?? path,
                    knownKeys)
            }
            throw CommandFailure(.usage, "\(key) in \(path) is neither text nor a number.")
        } catch {
            guard !text.isEmpty else {
                throw CommandFailure(.usage, "The configuration file \(path) is empty. It must be \(example).")
            }
            let place = text.fault.map { "\(path):\($0.position): \($0.reason). " } ?? ""
            throw CommandFailure(.usage, "\(place)The configuration file \(path) is not \(example).")
        }
    }

    private static func unknown(_ key: String, _ place: String, _ knownKeys: [String]) -> CommandFailure {
        CommandFailure(
            .usage,
            "\(place): \(key.quoted) is not a setting. The settings are \(knownKeys.joined(separator: ", ")).")
    }

    private enum Scalar: Decodable {
        case text(String)
        /// The number as text, so that a message can contain a number that a setting refuses, such as `1.5`.
        case number(String)
        case null

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let number = try? container.decode(Int.self) {
                self = .number("\(number)")
            } else if let number = try? container.decode(Double.self) {
                self = .number("\(number)")
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }
}
