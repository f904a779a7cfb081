import FoundationEssentials
import LibPQ

/// A statement of the caller, with its parameters.
///
/// ```swift
/// try transaction.execute("UPDATE cards SET title = \(title) WHERE id = \(id)")
/// ```
/// An interpolated value becomes a bound parameter and is never part of the text. A `String` is sent without a type, and the
/// server infers the type from the parameter's place. So a `uuid`, a `numeric` or a time can be given as text.
public struct SQLStatement: ExpressibleByStringInterpolation, Sendable {
    let sql: SQL

    /// A statement with this text. The text must not contain input from outside the program.
    public init(unsafeRaw text: String) { sql = SQL(unsafeRaw: text) }

    /// A statement without parameters.
    public init(stringLiteral text: String) { self.init(unsafeRaw: text) }

    /// A statement with a parameter for each interpolated value.
    public init(stringInterpolation interpolation: StringInterpolation) {
        sql = SQL(stringInterpolation: interpolation.sql)
    }

    /// Collects the text and the parameters.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql: SQL.StringInterpolation

        /// Reserves memory for the text and the parameters.
        public init(literalCapacity: Int, interpolationCount: Int) {
            sql = SQL.StringInterpolation(literalCapacity: literalCapacity, interpolationCount: interpolationCount)
        }

        /// Appends literal text.
        public mutating func appendLiteral(_ literal: String) { sql.appendLiteral(literal) }

        /// Binds a text, whose type the server infers.
        public mutating func appendInterpolation(_ value: String?) { sql.appendInterpolation(value) }
        /// Binds a `bigint`.
        public mutating func appendInterpolation(_ value: Int?) { sql.appendInterpolation(value) }
        /// Binds a `bigint`.
        public mutating func appendInterpolation(_ value: Int64?) { sql.appendInterpolation(value) }
        /// Binds an `integer`.
        public mutating func appendInterpolation(_ value: Int32?) { sql.appendInterpolation(value) }
        /// Binds a number as text, whose type the server infers.
        public mutating func appendInterpolation(_ value: Double?) { sql.appendInterpolation(value.map { "\($0)" }) }
        /// Binds a UUID as text, whose type the server infers.
        public mutating func appendInterpolation(_ value: UUID?) { sql.appendInterpolation(value?.itemKey) }
        /// Binds a point in time as text, rounded to microseconds, whose type the server infers. The server refuses one that is out of its range.
        public mutating func appendInterpolation(_ value: Date?) {
            sql.appendInterpolation(
                value.map { date in
                    let microseconds = (date.timeIntervalSince1970 * 1e6).rounded()
                    guard let exact = Int64(exactly: microseconds) else { return "\(microseconds) microseconds" }
                    return Timestamp(microsecondsSinceEpoch: exact).textOfServer
                })
        }
        /// Binds a `boolean`.
        public mutating func appendInterpolation(_ value: Bool?) { sql.appendInterpolation(value) }
        /// Binds a `text[]`. Cast it for a column of another type: `= ANY(\(ids)::uuid[])`.
        public mutating func appendInterpolation(_ values: [String]) { sql.appendInterpolation(values) }
        /// Binds a `bigint[]`.
        public mutating func appendInterpolation(_ values: [Int64]) { sql.appendInterpolation(values) }
        /// Binds a `bigint[]`.
        public mutating func appendInterpolation(_ values: [Int]) { sql.appendInterpolation(values.map(Int64.init)) }

        /// Inserts a fragment with its parameters.
        public mutating func appendInterpolation(_ fragment: SQLStatement) { sql.appendInterpolation(fragment.sql) }

        /// Inserts a quoted name of a table, column, ….
        public mutating func appendInterpolation(identifier name: String) {
            sql.appendInterpolation(identifier: name)
        }
    }
}
