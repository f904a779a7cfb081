/// Reads a value's binary form from front to back. Reading past the end throws an error and never crashes.
struct ByteReader {
    private var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) {
        rest = bytes
    }

    mutating func integer<Value: FixedWidthInteger>(_: Value.Type) throws(DecodingFailure) -> Value {
        Value(bigEndian: try bytes(MemoryLayout<Value>.size).loadUnaligned(as: Value.self))
    }

    mutating func bytes(_ count: Int) throws(DecodingFailure) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= rest.count else { throw .malformed("it ends too early") }
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[count...]) }
        return UnsafeRawBufferPointer(rebasing: rest[..<count])
    }
}
