import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Guides from other libraries", .database(migrated: false), .usualTimeLimit) struct GuideTests {
    @Test(
        "Each guide works as it is printed: schema, commands, moves and the resulting order",
        arguments: ["from-acts-as-list", "from-django-ordered-model", "from-fractional-indexing"])
    func guide(name: String) async throws {
        let connection = try await TestDatabase.current.connect()
        var previous: Block?
        var compared = 0
        for block in try Self.blocks(of: name) {
            switch block.language {
            case "sql" where !block.text.hasPrefix("SELECT title"): try await connection.execute(script: block.text)
            case "sh": try await Self.run(block)
            case "" where previous?.language == "sql":
                let query = try #require(previous?.text)
                if query.contains("rank") { try await drain() }
                let printed = block.text.split(separator: "\n").dropFirst(2).map(Self.cells)
                let rows = try await connection.query(SQL(unsafeRaw: Self.withText(query)))
                #expect(try rows.map { [try $0.decode(0), try $0.decode(1)] } == printed)
                compared += 1
            default: break
            }
            previous = block
        }
        #expect(compared >= 1)
    }

    @Test(
        "The guide from fractional-indexing adopts keys in the order of their bytes, whatever their collation",
        .enabled("the server knows no collations of ICU") { try await ServerBuild.knowsICU() },
        arguments: [
            TextKeys(
                testDescription: "fractional-indexing", collation: "en-US-x-icu",
                inOrder: ["Zz", "a0", "a0V", "a0l", "a1", "b00"]),
            TextKeys(
                testDescription: "LexoRank with capital letters", collation: "en-US-x-icu",
                inOrder: ["0|U00000:", "0|Uzzzzz:", "0|Uzzzzz:V", "0|V00000:", "0|a00000:", "1|A00000:"]),
            TextKeys(
                testDescription: "LexoRank with small letters only", collation: "et-x-icu",
                inOrder: ["0|hzzzzz:", "0|hzzzzz:i", "0|i00007:", "0|s00000:", "0|t00000:", "0|z00000:", "1|0i0000:"]),
        ]) func collation(keys: TextKeys) async throws
    {
        let connection = try await TestDatabase.current.connect()
        let blocks = try Self.blocks(of: "from-fractional-indexing")
        try await connection.execute(script: try #require(blocks.first { $0.language == "sql" }).text)
        try await connection.execute(
            "ALTER TABLE cards ALTER position TYPE text COLLATE \(identifier: keys.collation)")
        try await connection.execute(
            """
            INSERT INTO cards (board_id, title, position)
            SELECT 1, key, key FROM unnest(\(keys.inOrder)::text[]) AS key ORDER BY md5(key)
            """)
        try await Self.run(try #require(blocks.first { $0.language == "sh" }))
        let adopted = try await connection.query("SELECT position FROM cards ORDER BY rank")
        #expect(try adopted.map { try $0.decode(0) } == keys.inOrder)
        let collated = try await connection.query("SELECT position FROM cards ORDER BY position")
        #expect(try collated.map { try $0.decode(0) } != keys.inOrder, "This collation changes nothing.")
    }

    /// Keys in the order of their bytes, and a collation that orders them differently.
    struct TextKeys: CustomTestStringConvertible {
        let testDescription: String
        let collation: String
        let inOrder: [String]
    }

    private struct Block {
        let language: String
        let text: String
    }

    /// The code blocks of a page of `docs/`.
    private static func blocks(of name: String) throws -> [Block] {
        let page = try Repository.text(of: "docs/\(name).md")
        // Every second part is between two fences.
        return page.split(separator: "```", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
            .map { part in
                let lines = part.element.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
                return Block(language: String(lines[0]), text: lines.count == 2 ? String(lines[1]) : "")
            }
    }

    /// Runs the commands of a block.
    private static func run(_ block: Block) async throws {
        for command in block.text.split(separator: "\n") {
            let result = try await BrocotProcess.run(Self.arguments(of: command))
            #expect(result.exitCode == 0, "\(command): \(result.errors)")
        }
    }

    /// Splits a command line like a shell does, for arguments in single quotes; the program's name is left out.
    static func arguments(of command: Substring) -> [String] {
        command.split(separator: "'", omittingEmptySubsequences: false).enumerated().flatMap { part in
            part.offset % 2 == 1
                ? [String(part.element)] : part.element.split(separator: " ").map(String.init)
        }.dropFirst().map { $0 }
    }

    private static func cells(of line: Substring) -> [String] {
        line.split(separator: "|").map { cell in
            String(cell.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
    }

    /// The query with its second column as text.
    private static func withText(_ query: String) -> String {
        query.replacing("SELECT title, rank ", with: "SELECT title, rank::text ").replacing(";", with: "")
    }
}
