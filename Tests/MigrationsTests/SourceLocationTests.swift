import Testing

@testable import Migrations

@Suite(.timeLimit(.minutes(30))) struct SourceLocationTests {
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

    @Test("A place beyond the text is shown as the end of the text", arguments: [7, 8, 100])
    func namesTheEndOfTheLastLineForPlacesBeyondTheText(offset: Int) {
        let location = SourceLocation(path: "a.sql", text: "a\nbcde\n", offset: offset)
        #expect("\(location)" == "a.sql:3:1")
    }
}
