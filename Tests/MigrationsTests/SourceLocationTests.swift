import TestLimit
import Testing

@testable import Migrations

@Suite("Places in a file of SQL", .usualTimeLimit) struct SourceLocationTests {
    @Test("Lines and characters are counted from one") func countsLinesAndCharactersFromOne() {
        let location = SourceLocation(path: "a.sql", text: "SELECT 1;\nSELEC 2;\n", offset: 10)
        #expect("\(location)" == "a.sql:2:1")
        #expect(location.excerpt == " 2 | SELEC 2;\n   | ^")
    }

    @Test("A character of several scalars counts once") func countsACharacterOfSeveralScalarsOnce() {
        let text = "SELECT '👍🏽e\u{301}' x"
        let location = SourceLocation(path: "a.sql", text: text, offset: text.unicodeScalars.count - 1)
        #expect(location.column == 13)
    }

    @Test("Tabs are kept, so that the caret is below its character")
    func keepsTabsSoThatTheCaretStandsBelowItsCharacter() {
        let location = SourceLocation(path: "a.sql", text: "\tSELECT\t1", offset: 8)
        #expect(location.excerpt == " 1 | \tSELECT\t1\n   | \t      \t^")
    }

    @Test("Of a long line, the part around the place is shown", arguments: [0, 150, 500, 999])
    func cutsALongLine(offset: Int) throws {
        let text = String(repeating: "a", count: offset) + "b" + String(repeating: "c", count: 999 - offset)
        let location = SourceLocation(path: "a.sql", text: "SELECT 1;\n\(text)\n", offset: offset + 10)
        let lines = location.excerpt.split(separator: "\n").map(Array.init)
        #expect("\(location)" == "a.sql:2:\(offset + 1)")
        #expect(lines[0].count <= 207 && lines[0][lines[1].count - 1] == "b", "\(location.excerpt)")
        #expect(lines[0].contains("…") && (lines[0][5] == "…") == (offset > 100), "\(location.excerpt)")
    }

    @Test(
        "A character that is not visible has the width of one", arguments: ["\u{2028}", "\u{0C}", "\u{200E}", "\u{1B}"])
    func replacesInvisibleCharacters(character: String) {
        let text = "SELECT\(character)x"
        let location = SourceLocation(path: "a.sql", text: text, offset: 7)
        #expect(location.excerpt == " 1 | SELECT\u{FFFD}x\n   |        ^")
    }

    @Test("A place beyond the text is shown as the end of the text", arguments: [7, 8, 100])
    func namesTheEndOfTheLastLineForPlacesBeyondTheText(offset: Int) {
        let location = SourceLocation(path: "a.sql", text: "a\nbcde\n", offset: offset)
        #expect("\(location)" == "a.sql:3:1")
    }
}
