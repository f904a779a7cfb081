/// The source of a setting's value. Earlier cases take precedence.
enum SettingSource: Equatable, CustomStringConvertible {
    case option(String)
    case environment(String)
    case file(String)
    /// The default of the program or of libpq.
    case standard

    var description: String {
        switch self {
        case .option(let name), .environment(let name): name
        case .file(let path): path
        case .standard: "default"
        }
    }
}

/// The value of a setting, and its source.
struct Setting<Value> {
    /// The key in a file, such as `log_level`.
    let key: String
    let value: Value
    let source: SettingSource

    /// The same setting with another form of its value.
    func map<Result>(_ transform: (Value) -> Result) -> Setting<Result> {
        Setting<Result>(key: key, value: transform(value), source: source)
    }

    /// The setting's name in messages: `--log-level`, `BROCOT_LOG_LEVEL`, `log_level in /etc/brocot.json`.
    var place: String {
        if case .file(let path) = source { return "\(key) in \(path)" }
        return source == .standard ? key : "\(source)"
    }
}
