import LibPQ
import TestLimit
import Testing

@Suite("Literals", .usualTimeLimit) struct QuotingTests {
    @Test(
        "A literal is read as it was written, wherever it stands",
        arguments: ["", "a", "it's", "''", #"o\'b"#, #"\\"#, "'\u{301}", #"E'x"#, "a', 'b"])
    func readsLiterals(text: String) {
        let sql = "x = \(quoteLiteral(text)), 'b'"
        #expect(unquotedLiteral(at: sql.unicodeScalars.index(sql.startIndex, offsetBy: 4), of: sql) == text)
    }

    @Test("Text that is no literal, or has no end, is not read as one", arguments: ["", "a", "E'", "'a", "'a''"])
    func refusesOtherText(sql: String) {
        #expect(unquotedLiteral(at: sql.startIndex, of: sql) == nil)
    }
}
