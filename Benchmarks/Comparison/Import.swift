import ArgumentParser
import FoundationEssentials
import Subprocess

/// The speed of `brocot import` as a ratio to a bare COPY of the same rows into the same table with its indexes.
struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "`brocot import` against a bare COPY.")

    @Option(help: "Imported items.") var items = 1_000_000
    @Option(help: "Rounds.") var rounds = 3

    func run() async throws {
        print("\(items) items into one list")
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "brocot-import-\(UInt32.random(in: 0...(.max)))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (keys, rows) = (folder.appending(path: "keys").path, folder.appending(path: "rows").path)
        try write(1...items, to: keys) { "item \($0)\n" }
        try write(1...items, to: rows) { "l\titem \($0)\t\($0)\t1\t\($0)\n" }
        try await BenchmarkServer.run { server in
            let clock = ContinuousClock()
            for round in 1...rounds {
                try await server.psql(statement: "TRUNCATE brocot.items")
                try await server.psql(statement: "CHECKPOINT")
                let bare = try await clock.measure {
                    try await server.psql(
                        statement: "\\copy brocot.items (list, item, rank_num, rank_den, rank) from '\(rows)'")
                }
                try await server.psql(statement: "TRUNCATE brocot.items")
                try await server.psql(statement: "CHECKPOINT")
                let ours = try await clock.measure { try await server.brocot("import", "l", input: keys) }
                print(
                    "round \(round): \(Int(Double(items) / (ours / .seconds(1)))) items/s,",
                    "COPY \(Int(Double(items) / (bare / .seconds(1)))) rows/s, ratio \(rounded(bare / ours))")
            }
        }
    }

    private func write(_ numbers: ClosedRange<Int>, to path: String, _ line: (Int) -> String) throws {
        var text = ""
        for number in numbers { text += line(number) }
        try Data(text.utf8).write(to: URL(filePath: path))
    }
}
