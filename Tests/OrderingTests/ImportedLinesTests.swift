import TestLimit
import Testing

@testable import Ordering

@Suite("Lines of an import", .usualTimeLimit) struct ImportedLinesTests {
    private func lines(_ pieces: [[UInt8]], _ type: KeyType = .text) -> ImportedLines {
        var rest = pieces[...]
        return ImportedLines(keysOf: KeyColumn("item", type)) { rest.popFirst() ?? [] }
    }

    private func keys(_ lines: ImportedLines) -> [String] {
        var keys: [String] = []
        while let key = lines.next() { keys.append(key) }
        return keys
    }

    @Test("Imported lines are the same for every size of the pieces that are read", arguments: 1...12)
    func pieces(size: Int) {
        let text = Array("a\nbä c\r\n\t\nd".utf8)
        let pieces = stride(from: 0, to: text.count, by: size).map { Array(text[$0..<min($0 + size, text.count)]) }
        let lines = lines(pieces)
        #expect(keys(lines) == ["a", "bä c", "\t", "d"])
        #expect(lines.fault == nil && lines.count == 4)
    }

    @Test("Imported text may end with a line feed, or be empty") func ends() {
        #expect(keys(lines([Array("a\nb\n".utf8)])) == ["a", "b"])
        #expect(keys(lines([])) == [])
    }

    @Test("A byte order mark at the beginning of an imported text is no part of the first key") func byteOrderMark() {
        #expect(keys(lines([Array("\u{FEFF}a\n\u{FEFF}b\n".utf8)])) == ["a", "\u{FEFF}b"])
        #expect(lines([Array("\u{FEFF}7\n".utf8)], .bigint).next() == "7")
    }

    @Test(
        "A line with a byte order mark is read to its end before its length is judged",
        arguments: [(1024, [String(repeating: "k", count: 1024), "b"]), (1027, [])])
    func longLineWithByteOrderMark(length: Int, expected: [String]) {
        let lines = lines([
            [0xEF, 0xBB, 0xBF] + Array(repeating: UInt8(ascii: "k"), count: 1023),
            Array(repeating: UInt8(ascii: "k"), count: length - 1023) + Array("\nb\n".utf8),
        ])
        #expect(keys(lines) == expected)
    }

    @Test(
        "An imported line that can't be a key is reported with its number",
        arguments: [
            (Array("a\n\nb\n".utf8), 2, "it is empty"), (Array("a\nb\n\r\n".utf8), 3, "it is empty"),
            ([0x61, 0x0A, 0xFF, 0x0A], 2, "it is not UTF-8"), ([0x61, 0x00, 0x0A], 1, "it has a NUL character"),
            (Array("\(String(repeating: "ä", count: 513))\n".utf8), 1, "it has more than 1024 bytes"),
        ] as [([UInt8], Int, String)])
    func faults(text: [UInt8], line: Int, reason: String) {
        let lines = lines([text])
        #expect(keys(lines).count == line - 1)
        #expect(lines.fault == ImportedLines.Fault(line: line, reason: reason))
        #expect(lines.next() == nil)
    }

    @Test("Of a line that is longer than any key, only the beginning is read") func endlessLine() {
        var pieces = 0
        let lines = ImportedLines(keysOf: KeyColumn("item", .text)) {
            pieces += 1
            return pieces <= 100 ? Array(repeating: UInt8(ascii: "a"), count: 500) : []
        }
        #expect(lines.next() == nil)
        #expect(lines.fault == ImportedLines.Fault(line: 1, reason: "it has more than 1024 bytes"))
        #expect(pieces == 3)
    }

    @Test(
        "A key of 1,024 bytes may end with a carriage return and a line feed, in any piece",
        arguments: [1, 512, 1024, 1025, 1026])
    func longestKey(size: Int) {
        let key = String(repeating: "k", count: 1024)
        let text = Array("\(key)\r\n\(key)".utf8)
        let pieces = stride(from: 0, to: text.count, by: size).map { Array(text[$0..<min($0 + size, text.count)]) }
        #expect(keys(lines(pieces)) == [key, key])
    }

    @Test(
        "An imported key must have the spelling that PostgreSQL prints for the column's type",
        arguments: [(.bigint, "a bigint"), (.integer, "an integer")] as [(KeyType, String)])
    func canonical(type: KeyType, name: String) {
        let lines = lines([Array("7\n007\n".utf8)], type)
        #expect(keys(lines) == ["7"])
        #expect(
            lines.fault == ImportedLines.Fault(line: 2, reason: "'007' is not \(name) as PostgreSQL prints it"))
    }

    @Test(
        "An imported number that is too large for the column's type is reported as out of range",
        arguments: [
            (.smallint, "32768", "smallint"), (.integer, "-2147483649", "integer"),
            (.bigint, "9223372036854775808", "bigint"),
        ] as [(KeyType, String, String)])
    func outOfRange(type: KeyType, key: String, name: String) {
        let lines = lines([Array("7\n\(key)\n".utf8)], type)
        #expect(keys(lines) == ["7"])
        #expect(
            lines.fault == ImportedLines.Fault(line: 2, reason: "'\(key)' is out of range for type \(name)"))
    }

    @Test("Imported lines end when reading fails, and the error is kept") func readingFails() {
        struct Failure: Error {}
        let lines = ImportedLines(keysOf: KeyColumn("item", .text)) { throw Failure() }
        #expect(lines.next() == nil)
        #expect(lines.readError is Failure)
    }
}
