import Configuration
import Synchronization

/// Reads settings from options, the environment and a file, in this order.
struct SettingsReader {
    private let reader: ConfigReader
    private let recorder = AccessRecorder()
    /// The source of each of the reader's providers, in their order.
    private let sources: [@Sendable (_ key: String) -> SettingSource]

    /// `options` contains the given options, by their keys.
    init(options: [String: ConfigValue], environment: [String: String], file: ConfigurationFile?) {
        // An empty variable counts as not set, as in libpq.
        let variables = environment.filter { !$0.value.isEmpty }
        var providers: [any ConfigProvider] = [
            InMemoryProvider(values: Self.absolute(options)),
            EnvironmentVariablesProvider(environmentVariables: variables).prefixKeys(with: "brocot"),
        ]
        var sources: [@Sendable (String) -> SettingSource] = [
            { .option("--" + $0.replacing("_", with: "-")) }, { .environment("BROCOT_" + $0.uppercased()) },
        ]
        if let url = variables["DATABASE_URL"] {
            providers.append(
                InMemoryProvider(values: Self.absolute(["database_url": ConfigValue(.string(url), isSecret: true)])))
            sources.append { _ in .environment("DATABASE_URL") }
        }
        if let file {
            let path = file.path
            providers.append(InMemoryProvider(values: Self.absolute(file.values)))
            sources.append { _ in .file(path) }
        }
        reader = ConfigReader(providers: providers, accessReporter: recorder)
        self.sources = sources
    }

    private static func absolute(_ values: [String: ConfigValue]) -> [AbsoluteConfigKey: ConfigValue] {
        Dictionary(uniqueKeysWithValues: values.map { (AbsoluteConfigKey([$0.key]), $0.value) })
    }

    /// A whole number.
    ///
    /// - Throws: ``CommandFailure`` `.usage`, which names the source of what is wrong.
    func integer(_ key: String, in range: ClosedRange<Int>, standard: Int) throws(CommandFailure) -> Setting<Int> {
        let setting = try integer(key, in: range)
        return Setting(key: key, value: setting.value ?? standard, source: setting.source)
    }

    /// A whole number; nil if no source has it.
    ///
    /// - Throws: ``CommandFailure`` `.usage`, which names the source of what is wrong.
    func integer(_ key: String, in range: ClosedRange<Int>) throws(CommandFailure) -> Setting<Int?> {
        try text(key, wanted: "a whole number from \(range.lowerBound) to \(range.upperBound)") { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// A value that is made from a text; nil if no source has it.
    ///
    /// - Throws: ``CommandFailure`` `.usage`, which names the source of what is wrong.
    func text<Value>(
        _ key: String, wanted: String, as read: (String) -> Value?
    ) throws(CommandFailure) -> Setting<Value?> {
        let text = reader.string(forKey: ConfigKey([key]), isSecret: true)
        let setting = Setting<Value?>(
            key: key, value: text.flatMap(read), source: try source(of: key, wanted: wanted))
        if let text, setting.value == nil {
            let given = Double(text) == nil ? text.quoted : text
            throw CommandFailure(.usage, "\(setting.place) must be \(wanted), not \(given). See --help.")
        }
        return setting
    }

    /// The source of the value that was read last.
    private func source(of key: String, wanted: String) throws(CommandFailure) -> SettingSource {
        let results = recorder.lastResults
        for (number, result) in results.enumerated() {
            switch result.result {
            case .success(let found) where found.value == nil: continue
            case .success: return sources[number](key)
            case .failure:
                let setting = Setting(key: key, value: (), source: sources[number](key))
                throw CommandFailure(.usage, "\(setting.place) is not \(wanted). See --help.")
            }
        }
        return .standard
    }
}

/// Keeps the results of all providers for the setting that was read last.
private final class AccessRecorder: AccessReporter {
    private let results = Mutex<[AccessEvent.ProviderResult]>([])

    var lastResults: [AccessEvent.ProviderResult] { results.withLock { $0 } }

    func report(_ event: AccessEvent) { results.withLock { $0 = event.providerResults } }
}
