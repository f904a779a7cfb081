/// Where the value of a setting comes from, the strongest first.
enum SettingSource: Equatable, CustomStringConvertible {
    case option(String)
    case environment(String)
    case file(String)
    /// What the program, or libpq, does where nobody says anything.
    case standard

    var description: String {
        switch self {
        case .option(let name), .environment(let name): name
        case .file(let path): path
        case .standard: "default"
        }
    }
}

/// A value and where it comes from.
struct Setting<Value> {
    /// As in a file: `log_level`.
    let key: String
    let value: Value
    let source: SettingSource

    /// How a message names it: `--log-level`, `BROCOT_LOG_LEVEL`, `log_level in /etc/brocot.json`.
    var place: String {
        if case .file(let path) = source { return "\(key) in \(path)" }
        return source == .standard ? key : "\(source)"
    }
}
