import Testing

@testable import Migrations

@Suite(.timeLimit(.minutes(30))) struct SourceLocationTests {
    @Test func countsLinesAndCharactersFromOne() {
        let location = SourceLocation(path: "a.sql", text: "SELECT 1;\nSELEC 2;\n", offset: 10)
        #expect("\(location)" == "a.sql:2:1")
        #expect(location.excerpt == " 2 | SELEC 2;\n   | ^")
    }

    @Test func countsACharacterOfSeveralScalarsOnce() {
        let text = "SELECT '👍🏽e\u{301}' x"
        let location = SourceLocation(path: "a.sql", text: text, offset: text.unicodeScalars.count - 1)
        #expect(location.column == 13)
    }

    @Test func keepsTabsSoThatTheCaretStandsBelowItsCharacter() {
        let location = SourceLocation(path: "a.sql", text: "\tSELECT\t1", offset: 8)
        #expect(location.excerpt == " 1 | \tSELECT\t1\n   | \t      \t^")
    }

    @Test(arguments: [7, 8, 100])
    func namesTheEndOfTheLastLineForPlacesBeyondTheText(offset: Int) {
        let location = SourceLocation(path: "a.sql", text: "a\nbcde\n", offset: offset)
        #expect("\(location)" == "a.sql:3:1")
    }
}
