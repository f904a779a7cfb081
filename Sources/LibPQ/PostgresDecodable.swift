/// A value that can be read from a column of a result.
package protocol PostgresDecodable {
    /// The type's name in error messages.
    static var decodedName: String { get }

    init(_ cell: Cell) throws(DecodingFailure)
}

/// One value of a result, in PostgreSQL's binary format. It points into the result's memory, so it is valid only during
/// the `init` that receives it.
package struct Cell {
    package let type: PostgresType
    /// nil if the value is NULL.
    package let bytes: UnsafeRawBufferPointer?

    init(type: PostgresType, bytes: UnsafeRawBufferPointer?) {
        self.type = type
        self.bytes = bytes
    }

    /// The bytes. Throws if the value is NULL.
    package func value() throws(DecodingFailure) -> UnsafeRawBufferPointer {
        guard let bytes else { throw .null }
        return bytes
    }

    /// The value as an integer of a fixed width, in network byte order.
    package func integer<Value: FixedWidthInteger>(_: Value.Type) throws(DecodingFailure) -> Value {
        let bytes = try value()
        guard bytes.count == MemoryLayout<Value>.size else { throw .malformed("\(bytes.count) bytes") }
        return Value(bigEndian: bytes.loadUnaligned(as: Value.self))
    }
}

/// Why a value can't be read. ``Row`` adds the column's name and type.
package enum DecodingFailure: Error, Sendable {
    /// The value is NULL, and the Swift type isn't optional.
    case null
    /// The column's type can't be read as the Swift type.
    case unsupportedType
    /// The column's type can be read as the Swift type, but this value can't.
    case malformed(String)
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    package static var decodedName: String { Wrapped.decodedName + "?" }

    package init(_ cell: Cell) throws(DecodingFailure) {
        guard cell.bytes != nil else {
            self = nil
            return
        }
        self = try Wrapped(cell)
    }
}
