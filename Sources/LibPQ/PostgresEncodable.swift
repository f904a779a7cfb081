/// A value that can be bound to a parameter of a statement.
package protocol PostgresEncodable: Sendable {
    /// The type that the server is told.
    static var parameterType: PostgresType { get }

    /// The value as the server reads it.
    var parameter: Parameter { get }
}

/// A value on its way to the server.
package struct Parameter: Sendable {
    enum Content: Sendable {
        case null
        case binary([UInt8])
        /// Ends with a NUL byte, as libpq wants it.
        case text([UInt8])
        /// Can't be sent, and why. Interpolation can't throw, so that the error waits here for the statement.
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
        // A NUL inside would cut the value short without a word.
        guard !text.utf8.contains(0) else { return Parameter(type: type, content: .invalid(nulRefusal)) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 1)
        bytes.append(contentsOf: text.utf8)
        bytes.append(0)
        return Parameter(type: type, content: .text(bytes))
    }
}

let nulRefusal = "text contains a NUL character (U+0000), which PostgreSQL can't store"

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    package static var parameterType: PostgresType { Wrapped.parameterType }

    package var parameter: Parameter { self?.parameter ?? .null(Wrapped.parameterType) }
}
