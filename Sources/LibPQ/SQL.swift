/// A statement with its parameters.
///
/// ```swift
/// let statement: SQL = "SELECT name FROM \(identifier: table) WHERE id = \(id)"
/// ```
/// An interpolated value becomes a parameter and is never part of the text; an interpolated `SQL` is spliced in with its
/// parameters. What is text by intention says so: `identifier:`, `literal:`, `unsafeRaw:`.
package struct SQL: ExpressibleByStringInterpolation, Sendable {
    /// One more than there are parameters; the n-th parameter stands between the n-th text and the next.
    private var texts: [String]
    private(set) var parameters: [Parameter]

    /// A statement without parameters. What comes from outside doesn't belong here.
    package init(unsafeRaw text: String) {
        texts = [text]
        parameters = []
    }

    package init(stringLiteral text: String) {
        self.init(unsafeRaw: text)
    }

    package init(stringInterpolation: StringInterpolation) {
        self = stringInterpolation.sql
    }

    /// The text, with `$1`, `$2`, … where the parameters stand.
    package var text: String {
        var text = texts[0]
        for (index, part) in texts.dropFirst().enumerated() {
            text += "$\(index + 1)" + part
        }
        return text
    }

    /// The types of the parameters, as PREPARE declares them.
    package var parameterTypes: [PostgresType] { parameters.map(\.type) }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql = SQL(unsafeRaw: "")

        package init(literalCapacity: Int, interpolationCount: Int) {
            sql.texts.reserveCapacity(interpolationCount + 1)
            sql.parameters.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) {
            sql.append(literal)
        }

        /// Binds a value.
        package mutating func appendInterpolation(_ value: some PostgresEncodable) {
            sql.parameters.append(value.parameter)
            sql.texts.append("")
        }

        /// Splices a fragment in, with its parameters.
        package mutating func appendInterpolation(_ fragment: SQL) {
            sql.append(fragment)
        }

        /// A name of a table, column, role, …, quoted.
        package mutating func appendInterpolation(identifier name: String) {
            sql.append(quoteIdentifier(name))
        }

        /// A quoted literal, for statements that take no parameters.
        package mutating func appendInterpolation(literal text: String) {
            sql.append(quoteLiteral(text))
        }

        /// SQL as it is: never what comes from outside.
        package mutating func appendInterpolation(unsafeRaw text: String) {
            sql.append(text)
        }
    }

    fileprivate mutating func append(_ text: String) {
        texts[texts.count - 1] += text
    }

    fileprivate mutating func append(_ fragment: SQL) {
        append(fragment.texts[0])
        texts.append(contentsOf: fragment.texts.dropFirst())
        parameters.append(contentsOf: fragment.parameters)
    }
}

extension SQL: CustomStringConvertible {
    /// The text only: the values may be private.
    package var description: String { text }
}

extension Sequence<SQL> {
    /// One statement of many fragments, with their parameters.
    package func joined(separator: SQL = ", ") -> SQL {
        var result = SQL(unsafeRaw: "")
        for (index, fragment) in enumerated() {
            if index > 0 { result.append(separator) }
            result.append(fragment)
        }
        return result
    }
}
