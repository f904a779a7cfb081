/// A statement with its parameters.
///
/// ```swift
/// let statement: SQL = "SELECT name FROM \(identifier: table) WHERE id = \(id)"
/// ```
/// An interpolated value becomes a parameter and is never part of the text. An interpolated `SQL` is inserted with its
/// parameters. The labels `identifier:`, `literal:` and `unsafeRaw:` insert text.
package struct SQL: ExpressibleByStringInterpolation, Sendable {
    /// The texts around the parameters, one more than there are parameters: parameter n follows text n.
    private var texts: [String]
    private(set) var parameters: [Parameter]

    /// A statement without parameters. `text` must not contain input from outside the program.
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

    /// The text, with `$1`, `$2`, … in the places of the parameters. A digit after a parameter would be read as a part of its number,
    /// so a space comes between them.
    package var text: String {
        var text = texts[0]
        for (index, part) in texts.dropFirst().enumerated() {
            let startsWithDigit = part.utf8.first.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
            text += "$\(index + 1)" + (startsWithDigit ? " " : "") + part
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

        /// Inserts a fragment with its parameters.
        package mutating func appendInterpolation(_ fragment: SQL) {
            sql.append(fragment)
        }

        /// A name of a table, column, role, …, quoted.
        package mutating func appendInterpolation(identifier name: String) {
            sql.append(quoteIdentifier(name))
        }

        /// A quoted literal, for statements that take no parameters, and for values that the planner must know.
        package mutating func appendInterpolation(literal text: String) {
            sql.append(quoteLiteral(text))
        }

        /// Inserts text unchanged. The text must not contain input from outside the program.
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
    /// The text without the values of the parameters, which may be private.
    package var description: String { text }
}

extension Sequence<SQL> {
    /// Joins the fragments and their parameters to one statement.
    package func joined(separator: SQL = ", ") -> SQL {
        var result = SQL(unsafeRaw: "")
        for (index, fragment) in enumerated() {
            if index > 0 { result.append(separator) }
            result.append(fragment)
        }
        return result
    }
}
