/// A value that can be bound to a parameter of a statement.
package protocol PostgresEncodable: Sendable {
    /// The type that is sent to the server with the value.
    static var parameterType: PostgresType { get }

    /// The value in a form that the server reads.
    var parameter: Parameter { get }
}

/// A parameter's value, ready to be sent to the server.
package struct Parameter: Sendable {
    enum Content: Sendable {
        case null
        case binary([UInt8])
        /// Text that ends with a NUL byte, as libpq requires.
        case text([UInt8])
        /// The value can't be sent; the text says why. Interpolation can't throw, so running the statement throws this.
        case invalid(String)
    }

    let type: PostgresType
    let content: Content

    /// nil for NULL.
    var bytes: [UInt8]? {
        switch content {
        case .binary(let bytes), .text(let bytes): bytes
        case .null, .invalid: nil
        }
    }

    var isBinary: Bool {
        if case .binary = content { true } else { false }
    }

    static func null(_ type: PostgresType) -> Parameter { Parameter(type: type, content: .null) }

    static func binary(_ type: PostgresType, _ bytes: [UInt8]) -> Parameter {
        Parameter(type: type, content: .binary(bytes))
    }

    static func text(_ type: PostgresType, _ text: String) -> Parameter {
        // libpq would silently end the value at a NUL inside it.
        guard !text.utf8.contains(0) else { return Parameter(type: type, content: .invalid(reasonNulIsInvalid)) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 1)
        bytes.append(contentsOf: text.utf8)
        bytes.append(0)
        return Parameter(type: type, content: .text(bytes))
    }
}

let reasonNulIsInvalid = "text contains a NUL character (U+0000), which PostgreSQL can't store"

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    package static var parameterType: PostgresType { Wrapped.parameterType }

    package var parameter: Parameter { self?.parameter ?? .null(Wrapped.parameterType) }
}
