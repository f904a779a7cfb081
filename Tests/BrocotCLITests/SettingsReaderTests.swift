import Configuration
import TestLimit
import Testing

@testable import BrocotCLI

@Suite("Settings", .usualTimeLimit) struct SettingsReaderTests {
    private func reader(
        options: [String: ConfigValue] = [:], environment: [String: String] = [:]
    ) -> SettingsReader {
        SettingsReader(options: options, environment: environment, file: nil)
    }

    @Test("A setting comes from the option, else the environment, else the default")
    func precedence() throws {
        let environment = ["BROCOT_WORKERS": "3"]
        let both = try reader(
            options: ["workers": ConfigValue(.string("4"), isSecret: false)], environment: environment
        )
        .integer("workers", in: 1...256, standard: 2)
        #expect(both.value == 4 && both.source == .option("--workers"))
        let variable = try reader(environment: environment).integer("workers", in: 1...256, standard: 2)
        #expect(variable.value == 3 && variable.source == .environment("BROCOT_WORKERS"))
        let neither = try reader().integer("workers", in: 1...256, standard: 2)
        #expect(neither.value == 2 && neither.source == .standard)
    }

    @Test("An empty variable is ignored")
    func emptyVariable() throws {
        let setting = try reader(environment: ["BROCOT_WORKERS": ""]).integer("workers", in: 1...256, standard: 2)
        #expect(setting.value == 2 && setting.source == .standard)
    }

    @Test(
        "An invalid or too large number is refused with the name of its source",
        arguments: ["many", "0", "257", "1.5"])
    func invalidNumber(text: String) throws {
        let error = #expect(throws: CommandFailure.self) {
            try reader(environment: ["BROCOT_WORKERS": text]).integer("workers", in: 1...256, standard: 2)
        }
        #expect(error?.status == .usage)
        #expect(error?.description.contains("BROCOT_WORKERS") == true)
    }

    @Test("The database URL comes from BROCOT_DATABASE_URL, else from DATABASE_URL")
    func databaseURL() throws {
        let usual = ["DATABASE_URL": "postgresql://usual"]
        let setting = try reader(environment: usual).text("database_url", wanted: "a URL") { $0 }
        #expect(setting.value == "postgresql://usual" && setting.source == .environment("DATABASE_URL"))
        let own = try reader(environment: usual.merging(["BROCOT_DATABASE_URL": "postgresql://own"]) { $1 })
            .text("database_url", wanted: "a URL") { $0 }
        #expect(own.value == "postgresql://own" && own.source == .environment("BROCOT_DATABASE_URL"))
    }
}
