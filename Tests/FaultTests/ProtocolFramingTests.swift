import TestLimit
import Testing

@testable import FaultHarness

@Suite("The proxy's reading of the protocol", .usualTimeLimit) struct ProtocolFramingTests {
    private static func message(_ letter: Character, _ content: [UInt8]) -> [UInt8] {
        [letter.asciiValue ?? 0] + length(content.count + 4) + content
    }

    private static func length(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 0xFF) } }

    private static let encryptionRequest = length(8) + length(80_877_103)
    private static let startup = length(13) + length(196_608) + Array("user\0".utf8)
    private static let commit = message("Q", Array("COMMIT\0".utf8))
    private static let parse = message("P", Array("\0SELECT 1\0\0\0".utf8))
    private static let rest =
        message("B", [0, 0, 0, 0, 0, 0, 0, 0]) + message("E", [0, 0, 0, 0, 0]) + message("S", [])

    @Test("The proxy finds statements in pieces of any length", arguments: [1, 2, 7, 1_000])
    func requests(pieceLength: Int) {
        var framing = RequestFraming()
        let bytes = Self.encryptionRequest + Self.startup + Self.commit + Self.parse + Self.rest + Self.message("X", [])
        var units: [RequestFraming.Unit] = []
        for start in stride(from: 0, to: bytes.count, by: pieceLength) {
            units += framing.append(bytes[start..<min(start + pieceLength, bytes.count)])
        }
        #expect(
            units == [
                .encryptionRequest(Self.encryptionRequest), .other(Self.startup),
                .statement(text: "COMMIT", bytes: Self.commit),
                .statement(text: "SELECT 1", bytes: Self.parse + Self.rest), .other(Self.message("X", [])),
            ])
    }

    @Test("The proxy knows a prepared statement's text each time that the statement runs")
    func preparedStatements() {
        var framing = RequestFraming()
        let parse = Self.message("P", Array("one\0SELECT 1\0\0\0".utf8)) + Self.message("S", [])
        let run =
            Self.message("B", Array("\0one\0".utf8) + [0, 0, 0, 0, 0, 0]) + Self.message("E", [0, 0, 0, 0, 0])
            + Self.message("S", [])
        let other = Self.message("B", Array("\0two\0".utf8)) + Self.message("E", [0]) + Self.message("S", [])
        let units = framing.append(Self.startup + parse + run + run + other)
        #expect(
            units.dropFirst() == [
                .other(parse), .statement(text: "SELECT 1", bytes: run), .statement(text: "SELECT 1", bytes: run),
                .statement(text: "", bytes: other),
            ])
    }

    @Test(
        "The proxy knows the server process, the number of answers, and if a transaction is open",
        arguments: [1, 2, 7, 1_000])
    func answers(pieceLength: Int) {
        var framing = AnswerFraming()
        framing.expectSingleByte()
        let opening = Array("N".utf8) + Self.message("K", Self.length(4_711) + Self.length(0))
        let bytes = opening + Self.message("Z", Array("I".utf8)) + Self.message("D", Array("Z\0\0\0\u{5}T".utf8))
        for piece in [bytes, Self.message("Z", Array("T".utf8))] {
            for start in stride(from: 0, to: piece.count, by: pieceLength) {
                framing.append(Array(piece[start..<min(start + pieceLength, piece.count)]))
            }
        }
        #expect(framing.serverProcess == 4_711)
        #expect(framing.readyCount == 2)
        #expect(framing.isInTransaction)
    }
}
