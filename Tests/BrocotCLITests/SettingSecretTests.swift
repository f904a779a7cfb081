import FoundationEssentials
import TestLimit
import TestPostgres
import Testing

@testable import BrocotCLI

@Suite("Secrets in settings", .usualTimeLimit) struct SettingSecretTests {
    private static let url = "postgresql://bd:geheim77@h/app"

    @Test(
        "A URL in the wrong setting, or as its key, is shortened in the message", arguments: LogFormat.allCases)
    func misplaced(format: LogFormat) async throws {
        try await withTemporaryFolder { folder in
            let file = "\(folder)/brocot.json"
            for (options, settings) in [
                (["--http", Self.url], "{}"), ([], #"{"log_level": "\#(Self.url)"}"#), ([], #"{"\#(Self.url)": 3}"#),
                ([], #"{"\#(Self.url)": [3]}"#),
            ] {
                try Data(settings.utf8).write(to: URL(filePath: file))
                let result = try await BrocotProcess.run(
                    ["daemon", "--config", file, "--log-format", format.rawValue] + options, databaseURL: "")
                #expect(result.exitCode == 2)
                #expect(result.errors.contains(#""postgresql://…""#), "\(result.errors)")
                #expect(!result.errors.contains("geheim77"), "\(result.errors)")
            }
        }
    }
}
