import LibPQ

/// A statement of the caller's, with its parameters.
///
/// ```swift
/// try transaction.execute("UPDATE cards SET title = \(title) WHERE id = \(id)")
/// ```
/// An interpolated value becomes a bound parameter and is never part of the text. Text goes to the server without a
/// type, which it infers from where the parameter stands; so a `uuid`, a `numeric` or a time is given as its text.
public struct SQLStatement: ExpressibleByStringInterpolation, Sendable {
    let sql: SQL

    /// SQL as it is: never what comes from outside.
    public init(unsafeRaw text: String) { sql = SQL(unsafeRaw: text) }

    /// A statement without parameters.
    public init(stringLiteral text: String) { self.init(unsafeRaw: text) }

    /// A statement with a parameter for each interpolated value.
    public init(stringInterpolation interpolation: StringInterpolation) {
        sql = SQL(stringInterpolation: interpolation.sql)
    }

    /// Gathers the text and the parameters.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql: SQL.StringInterpolation

        /// Makes room for so much text and so many parameters.
        public init(literalCapacity: Int, interpolationCount: Int) {
            sql = SQL.StringInterpolation(literalCapacity: literalCapacity, interpolationCount: interpolationCount)
        }

        /// Takes in what is not interpolated.
        public mutating func appendLiteral(_ literal: String) { sql.appendLiteral(literal) }

        /// Binds a text, whose type the server infers.
        public mutating func appendInterpolation(_ value: String?) { sql.appendInterpolation(value) }
        /// Binds a `bigint`.
        public mutating func appendInterpolation(_ value: Int?) { sql.appendInterpolation(value) }
        /// Binds a `bigint`.
        public mutating func appendInterpolation(_ value: Int64?) { sql.appendInterpolation(value) }
        /// Binds a `boolean`.
        public mutating func appendInterpolation(_ value: Bool?) { sql.appendInterpolation(value) }
        /// Binds a `text[]`.
        public mutating func appendInterpolation(_ values: [String]) { sql.appendInterpolation(values) }
        /// Binds a `bigint[]`.
        public mutating func appendInterpolation(_ values: [Int64]) { sql.appendInterpolation(values) }

        /// Splices a fragment in, with its parameters.
        public mutating func appendInterpolation(_ fragment: SQLStatement) { sql.appendInterpolation(fragment.sql) }

        /// A name of a table, column, …, quoted.
        public mutating func appendInterpolation(identifier name: String) {
            sql.appendInterpolation(identifier: name)
        }
    }
}
