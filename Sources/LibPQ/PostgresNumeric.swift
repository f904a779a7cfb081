/// An exact `numeric`, as its decimal text. Two values are equal if their texts are equal: `1.0` is not equal to `1.00`.
package struct PostgresNumeric: Hashable, Sendable, CustomStringConvertible {
    /// Digits with at most one decimal point and one leading minus sign; or `NaN`, `Infinity`, `-Infinity`.
    package let text: String

    package var description: String { text }

    package var isFinite: Bool { !["NaN", "Infinity", "-Infinity"].contains(text) }

    /// nil if the text isn't a decimal number. An exponent is not accepted.
    package init?(_ text: String) {
        let digits = (text.hasPrefix("-") ? text.dropFirst() : text[...]).split(
            separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let isDecimal = digits.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        guard isDecimal || ["NaN", "Infinity", "-Infinity"].contains(text) else { return nil }
        self.text = text
    }
}

extension PostgresNumeric: PostgresEncodable, PostgresDecodable {
    package static var parameterType: PostgresType { .numeric }
    package static var decodedName: String { "PostgresNumeric" }
    package var parameter: Parameter { .text(.numeric, text) }

    /// The sign field of a numeric in binary format; see `numeric.c` of PostgreSQL (`NUMERIC_NAN`, `NUMERIC_PINF`, `NUMERIC_NINF`,
    /// `NUMERIC_NEG`).
    private enum Sign {
        static let nan: UInt16 = 0xC000
        static let positiveInfinity: UInt16 = 0xD000
        static let negativeInfinity: UInt16 = 0xF000
        static let negative: UInt16 = 0x4000
    }

    /// The binary form, from `numeric_send` in PostgreSQL's `numeric.c`: count of digits, weight of the first, sign,
    /// decimals shown, then the digits, to the base of 10,000.
    package init(_ cell: Cell) throws(DecodingFailure) {
        guard cell.type == .numeric else { throw .unsupportedType }
        var reader = ByteReader(try cell.value())
        let digitCount = Int(try reader.integer(UInt16.self))
        let weight = Int(try reader.integer(Int16.self))
        let sign = try reader.integer(UInt16.self)
        let scale = Int(try reader.integer(UInt16.self))
        switch sign {
        case Sign.nan: text = "NaN"
        case Sign.positiveInfinity: text = "Infinity"
        case Sign.negativeInfinity: text = "-Infinity"
        default:
            var digits: [UInt16] = []
            digits.reserveCapacity(digitCount)
            for _ in 0..<digitCount { digits.append(try reader.integer(UInt16.self)) }
            text = Self.text(digits: digits, weight: weight, isNegative: sign == Sign.negative, scale: scale)
        }
    }

    private static func text(digits: [UInt16], weight: Int, isNegative: Bool, scale: Int) -> String {
        var characters: [UInt8] = isNegative ? [UInt8(ascii: "-")] : []
        func append(_ index: Int) {
            let digit = digits.indices.contains(index) ? digits[index] : 0
            for power in [1000, 100, 10, 1] as [UInt16] {
                characters.append(UInt8(ascii: "0") + UInt8(digit / power % 10))
            }
        }
        let start = characters.count
        for index in 0..<max(weight + 1, 0) { append(index) }
        let significant = characters[start...].firstIndex { $0 != UInt8(ascii: "0") } ?? characters.count
        characters.removeSubrange(start..<significant)
        if characters.count == start { characters.append(UInt8(ascii: "0")) }
        if scale > 0 {
            characters.append(UInt8(ascii: "."))
            let end = characters.count + scale
            var index = weight + 1
            while characters.count < end {
                append(index)
                index += 1
            }
            characters.removeSubrange(end...)
        }
        return String(decoding: characters, as: UTF8.self)
    }
}
