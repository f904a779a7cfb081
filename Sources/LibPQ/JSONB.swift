/// A `jsonb` value as text. This type does not parse it.
package struct JSONB: Hashable, Sendable, CustomStringConvertible {
    package var text: String

    package init(_ text: String) {
        self.text = text
    }

    package var description: String { text }
}

extension JSONB: PostgresEncodable, PostgresDecodable {
    package static var parameterType: PostgresType { .jsonb }
    package static var decodedName: String { "JSONB" }
    package var parameter: Parameter { .text(.jsonb, text) }

    package init(_ cell: Cell) throws(DecodingFailure) {
        switch cell.type {
        case .jsonb:
            let bytes = try cell.value()
            // The first byte is the format's version, which is 1 in all versions of PostgreSQL.
            guard bytes.first == 1 else { throw .malformed("an unknown version of jsonb's binary format") }
            text = String(decoding: bytes.dropFirst(), as: UTF8.self)
        case .json:
            text = try String(cell)
        default:
            throw .unsupportedType
        }
    }
}
