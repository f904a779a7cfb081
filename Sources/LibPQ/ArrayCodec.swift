/// A value that an array can hold on its way to or from the server.
package protocol PostgresArrayElement: PostgresDecodable, Sendable {
    static var elementType: PostgresType { get }
    static var arrayType: PostgresType { get }

    /// Appends the element's length and binary form.
    func appendElement(to bytes: inout [UInt8]) -> ArrayElementOutcome

    /// Appends all elements, up to the first one that can't be sent. This is a requirement of the protocol, so that each
    /// type gets a specialized loop: one generic loop for all types takes four times as long.
    static func appendElements(_ elements: [Self], to bytes: inout [UInt8]) -> ArrayOutcome
    static func appendOptionals(_ elements: [Self?], to bytes: inout [UInt8]) -> ArrayOutcome
}

package enum ArrayElementOutcome: Sendable {
    case value, null
    /// The element can't be sent; the text says why.
    case invalid(String)
}

package struct ArrayOutcome: Sendable {
    var hasNull = false
    /// Why the array can't be sent.
    var reasonInvalid: String?
}

extension PostgresArrayElement {
    package static func appendElements(_ elements: [Self], to bytes: inout [UInt8]) -> ArrayOutcome {
        appendAll(elements, to: &bytes)
    }

    package static func appendOptionals(_ elements: [Self?], to bytes: inout [UInt8]) -> ArrayOutcome {
        appendAll(elements, to: &bytes)
    }
}

@inline(__always)
private func appendAll<Element: PostgresArrayElement>(
    _ elements: [Element], to bytes: inout [UInt8]
) -> ArrayOutcome {
    var outcome = ArrayOutcome()
    for (index, element) in elements.enumerated() {
        switch element.appendElement(to: &bytes) {
        case .value: break
        case .null: outcome.hasNull = true
        case .invalid(let reason):
            outcome.reasonInvalid = "element \(index + 1) of an array: \(reason)"
            return outcome
        }
    }
    return outcome
}

extension Int64: PostgresArrayElement {
    package static var elementType: PostgresType { .bigint }
    package static var arrayType: PostgresType { .bigintArray }

    package func appendElement(to bytes: inout [UInt8]) -> ArrayElementOutcome {
        appendBigEndian(Int32(8), to: &bytes)
        appendBigEndian(self, to: &bytes)
        return .value
    }
}

extension Int: PostgresArrayElement {
    package static var elementType: PostgresType { .bigint }
    package static var arrayType: PostgresType { .bigintArray }

    package func appendElement(to bytes: inout [UInt8]) -> ArrayElementOutcome {
        Int64(self).appendElement(to: &bytes)
    }
}

extension String: PostgresArrayElement {
    package static var elementType: PostgresType { .text }
    package static var arrayType: PostgresType { .textArray }

    package func appendElement(to bytes: inout [UInt8]) -> ArrayElementOutcome {
        guard !utf8.contains(0) else { return .invalid(reasonNulIsInvalid) }
        // A text that is too long for this number is refused with the statement: see `refuseTooLarge`.
        appendBigEndian(Int32(truncatingIfNeeded: utf8.count), to: &bytes)
        bytes.append(contentsOf: utf8)
        return .value
    }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresArrayElement {
    package static var elementType: PostgresType { Wrapped.elementType }
    package static var arrayType: PostgresType { Wrapped.arrayType }

    package func appendElement(to bytes: inout [UInt8]) -> ArrayElementOutcome {
        guard let self else {
            appendBigEndian(Int32(-1), to: &bytes)
            return .null
        }
        return self.appendElement(to: &bytes)
    }

    package static func appendElements(_ elements: [Self], to bytes: inout [UInt8]) -> ArrayOutcome {
        Wrapped.appendOptionals(elements, to: &bytes)
    }
}

/// The binary form, from `array_send` in PostgreSQL's `arrayfuncs.c`: number of dimensions, whether there are NULLs, the
/// element's type, for each dimension its length and lower bound, then each element with its length (-1: NULL).
extension Array: PostgresEncodable where Element: PostgresArrayElement {
    package static var parameterType: PostgresType { Element.arrayType }

    package var parameter: Parameter {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + count * 12)
        appendBigEndian(Int32(isEmpty ? 0 : 1), to: &bytes)
        appendBigEndian(Int32(0), to: &bytes)
        appendBigEndian(Element.elementType.rawValue, to: &bytes)
        if !isEmpty {
            appendBigEndian(Int32(count), to: &bytes)
            appendBigEndian(Int32(1), to: &bytes)
        }
        let outcome = Element.appendElements(self, to: &bytes)
        if let reason = outcome.reasonInvalid {
            return Parameter(type: Element.arrayType, content: .invalid(reason))
        }
        if outcome.hasNull { bytes[7] = 1 }
        return .binary(Element.arrayType, bytes)
    }
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
    package static var decodedName: String { "[\(Element.decodedName)]" }

    package init(_ cell: Cell) throws(DecodingFailure) {
        guard let elementType = arrayElementTypes[cell.type] else { throw .unsupportedType }
        var reader = ByteReader(try cell.value())
        let dimensions = try reader.integer(Int32.self)
        _ = try reader.integer(Int32.self)
        guard try reader.integer(UInt32.self) == elementType.rawValue else {
            throw .malformed("elements of another type")
        }
        self = []
        if dimensions == 0 { return }
        guard dimensions == 1 else { throw .malformed("\(dimensions) dimensions instead of one") }
        let count = Int(try reader.integer(Int32.self))
        _ = try reader.integer(Int32.self)
        guard count >= 0, count <= cell.bytes?.count ?? 0 else { throw .malformed("it ends too early") }
        reserveCapacity(count)
        for index in 0..<count {
            let length = Int(try reader.integer(Int32.self))
            let element = Cell(type: elementType, bytes: length == -1 ? nil : try reader.bytes(length))
            do throws(DecodingFailure) {
                append(try Element(element))
            } catch {
                throw error.inElement(index + 1)
            }
        }
    }
}

private let arrayElementTypes: [PostgresType: PostgresType] = [
    .bigintArray: .bigint, .integerArray: .integer, .smallintArray: .smallint, .oidArray: .oid,
    .booleanArray: .boolean, .textArray: .text, .varcharArray: .varchar, .nameArray: .name, .characterArray: .character,
]

extension DecodingFailure {
    fileprivate func inElement(_ number: Int) -> DecodingFailure {
        switch self {
        case .null: .malformed("element \(number) is NULL")
        case .unsupportedType: self
        case .malformed(let reason): .malformed("element \(number): \(reason)")
        }
    }
}

private func appendBigEndian(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
}
