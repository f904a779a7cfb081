import Configuration
import FoundationEssentials

/// A configuration file: one JSON object, without objects or arrays in it.
///
/// It is not read with swift-configuration's own provider for JSON files, because that provider doesn't show its keys, so that
/// unknown keys could not be refused. It also needs all of Foundation, which would make the static binary larger.
struct ConfigurationFile {
    let path: String
    let values: [String: ConfigValue]

    /// - Throws: ``CommandFailure`` `.usage` if the file can't be read, or contains an unknown key.
    init(path: String, knownKeys: [String]) throws {
        self.path = path
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw CommandFailure(.usage, "The configuration file \(path) can't be read. See --config.")
        }
        let scalars: [String: Scalar]
        do {
            scalars = try JSONDecoder().decode([String: Scalar].self, from: data)
        } catch DecodingError.typeMismatch(_, let context) where !context.codingPath.isEmpty {
            let key = context.codingPath.map(\.stringValue).joined(separator: ".")
            throw CommandFailure(.usage, "\(key) in \(path) is neither text nor a whole number.")
        } catch {
            throw CommandFailure(
                .usage,
                "The configuration file \(path) is not a JSON object such as {\"workers\": 4, \"log_level\": \"info\"}."
            )
        }
        if let unknown = scalars.keys.sorted().first(where: { !knownKeys.contains($0) }) {
            throw CommandFailure(
                .usage,
                "\(path) contains \(unknown.quoted), which is not a setting. The settings are \(knownKeys.joined(separator: ", "))."
            )
        }
        values = scalars.mapValues { scalar in
            switch scalar {
            case .text(let text): ConfigValue(.string(text), isSecret: true)
            case .number(let number): ConfigValue(.int(number), isSecret: false)
            }
        }
    }

    private enum Scalar: Decodable {
        case text(String)
        case number(Int)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int.self) {
                self = .number(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }
}
