/// A value that can be read from a column of a result.
package protocol PostgresDecodable {
    /// The type's name in error messages.
    static var decodedName: String { get }

    init(_ cell: Cell) throws(DecodingFailure)
}

/// One value of a result, in PostgreSQL's binary format. Valid only during the `init` that is given it: it points
/// into the result's memory.
package struct Cell {
    package let type: PostgresType
    /// nil where the value is NULL.
    package let bytes: UnsafeRawBufferPointer?

    init(type: PostgresType, bytes: UnsafeRawBufferPointer?) {
        self.type = type
        self.bytes = bytes
    }

    /// The bytes of a value that must not be NULL.
    package func value() throws(DecodingFailure) -> UnsafeRawBufferPointer {
        guard let bytes else { throw .null }
        return bytes
    }

    /// The value of a fixed width, in the network's byte order.
    package func integer<Value: FixedWidthInteger>(_: Value.Type) throws(DecodingFailure) -> Value {
        let bytes = try value()
        guard bytes.count == MemoryLayout<Value>.size else { throw .malformed("\(bytes.count) bytes") }
        return Value(bigEndian: bytes.loadUnaligned(as: Value.self))
    }
}

/// Why a value can't be read; the row adds where.
package enum DecodingFailure: Error, Sendable {
    /// The column is NULL and the type can't be.
    case null
    /// The column's type has no reading as the Swift type.
    case unsupportedType
    /// The column's type fits and this value does not.
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
