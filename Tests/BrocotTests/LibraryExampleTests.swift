import FoundationEssentials
import Subprocess
import TestLimit
import TestPostgres
import Testing

@Suite("Example of the library", .usualTimeLimit)
struct LibraryExampleTests {
    @Test("The example prints the documented output each time that it runs", .database)
    func runs() async throws {
        let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "LibraryExample").path
        try await LibraryFixture.withDaemon {
            for _ in 1...2 {
                let result = try await withDeadline("the example ends") {
                    try await Subprocess.run(
                        .path(.init(program)), arguments: [TestDatabase.current.url],
                        output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
                }
                #expect(result.terminationStatus.isSuccess)
                #expect(result.standardError == "")
                #expect(
                    result.standardOutput == """
                        groceries: ["butter", "eggs", "bread", "milk", "tea"]
                        moved to the basket: 1
                        rejected: the anchor 'honey' has no place in list 'groceries'
                        request: applied(rebalancedRows: 0)
                        page: ["butter", "jam"]
                        page: ["eggs", "bread"]
                        page: ["tea"]

                        """)
            }
        }
    }

    @Test("The documentation contains the example unchanged")
    func isDocumented() throws {
        let example = try Repository.text(of: "Examples/LibraryExample/LibraryExample.swift")
        #expect(try Repository.text(of: "docs/library.md").contains("```swift\n\(example)```"))
    }
}
