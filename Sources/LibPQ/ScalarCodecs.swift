/// `bigint`. Also reads `integer`, `smallint` and `oid`, whose values all fit.
extension Int64: PostgresEncodable, PostgresDecodable {
    package static var parameterType: PostgresType { .bigint }
    package static var decodedName: String { "Int64" }
    package var parameter: Parameter { .binary(.bigint, bigEndianBytes(of: self)) }

    package init(_ cell: Cell) throws(DecodingFailure) {
        switch cell.type {
        case .bigint: self = try cell.integer(Int64.self)
        case .integer: self = Int64(try cell.integer(Int32.self))
        case .smallint: self = Int64(try cell.integer(Int16.self))
        case .oid: self = Int64(try cell.integer(UInt32.self))
        default: throw .unsupportedType
        }
    }
}

/// The same as `Int64`.
extension Int: PostgresEncodable, PostgresDecodable {
    package static var parameterType: PostgresType { .bigint }
    package static var decodedName: String { "Int" }
    package var parameter: Parameter { Int64(self).parameter }

    package init(_ cell: Cell) throws(DecodingFailure) {
        self = Int(try Int64(cell))
    }
}

/// `integer`. Also reads `smallint`.
extension Int32: PostgresEncodable, PostgresDecodable {
    package static var parameterType: PostgresType { .integer }
    package static var decodedName: String { "Int32" }
    package var parameter: Parameter { .binary(.integer, bigEndianBytes(of: self)) }

    package init(_ cell: Cell) throws(DecodingFailure) {
        switch cell.type {
        case .integer: self = try cell.integer(Int32.self)
        case .smallint: self = Int32(try cell.integer(Int16.self))
        default: throw .unsupportedType
        }
    }
}

extension Bool: PostgresEncodable, PostgresDecodable {
    package static var parameterType: PostgresType { .boolean }
    package static var decodedName: String { "Bool" }
    package var parameter: Parameter { .binary(.boolean, [self ? 1 : 0]) }

    package init(_ cell: Cell) throws(DecodingFailure) {
        guard cell.type == .boolean else { throw .unsupportedType }
        self = try cell.integer(UInt8.self) != 0
    }
}

/// Text is sent without a type, so that the server infers the type from the parameter's place: `id = \(key)` works if `id`
/// is `text`, `uuid` or `bigint`. If the server can't infer a type (`\(key) IS NULL`), write `\(key)::text`. The elements
/// of an array are sent as `text`.
///
/// Reads the text types and `json`. The server guarantees that it sends valid UTF-8.
extension String: PostgresEncodable, PostgresDecodable {
    package static var parameterType: PostgresType { .inferred }
    package static var decodedName: String { "String" }
    package var parameter: Parameter { .text(.inferred, self) }

    package init(_ cell: Cell) throws(DecodingFailure) {
        switch cell.type {
        case .text, .varchar, .name, .character, .internalCharacter, .unknown, .json: break
        default: throw .unsupportedType
        }
        self.init(decoding: try cell.value(), as: UTF8.self)
    }
}

func bigEndianBytes(of value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
}
