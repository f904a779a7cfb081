import FoundationEssentials
import LibPQ

/// A row of the result of a caller's statement.
public struct ResultRow: Sendable {
    let row: Row

    /// Reads a column by its exact name: `let title: String = try row.decode("title")`.
    ///
    /// Cast columns of types other than those of ``ColumnValue`` in the statement, for example `price::text`.
    ///
    /// - Throws: ``BrocotError`` `unreadableValue`.
    public func decode<Value: ColumnValue>(_ column: String, as _: Value.Type = Value.self) throws(BrocotError) -> Value
    {
        try Value.read(column, of: self)
    }

    fileprivate func value<Value: PostgresDecodable>(_ column: String) throws(BrocotError) -> Value {
        do throws(PostgresError) { return try row.decode(column) } catch { throw BrocotError(error) }
    }
}

/// A value that can be read from a column: `String` from text types, `Int`, `Int64` and `Int32` from integers, `Double` from `double precision`, `UUID`,
/// `Bool`, `Date` from `timestamptz`, and optionals of these. Your own types can conform too: read one of these types and convert it. If that is impossible, throw a
/// ``BrocotError`` with the code `unreadableValue`.
public protocol ColumnValue: Sendable {
    /// Reads a column by its name.
    static func read(_ column: String, of row: ResultRow) throws(BrocotError) -> Self
}

extension String: ColumnValue {
    /// Reads `text`, `varchar` and the like.
    public static func read(_ column: String, of row: ResultRow) throws(BrocotError) -> String {
        try row.value(column)
    }
}

extension Int: ColumnValue {
    /// Reads `bigint`, `integer` and `smallint`.
    public static func read(_ column: String, of row: ResultRow) throws(BrocotError) -> Int {
        try row.value(column)
    }
}

extension Int64: ColumnValue {
    /// Reads `bigint`, `integer` and `smallint`.
    public static func read(_ column: String, of row: ResultRow) throws(BrocotError) -> Int64 {
        try row.value(column)
    }
}

extension Int32: ColumnValue {
    /// Reads `integer` and `smallint`.
    public static func read(_ column: String, of row: ResultRow) throws(BrocotError) -> Int32 {
        try row.value(column)
    }
}

extension Double: ColumnValue {
    /// Reads `double precision`.
    public static func read(_ column: String, of row: ResultRow) throws(BrocotError) -> Double {
        let content: DoubleContent = try row.value(column)
        return content.value
    }
}

extension UUID: ColumnValue {
    /// Reads `uuid`.
    public static func read(_ column: String, of row: ResultRow) throws(BrocotError) -> UUID {
        let content: UUIDContent = try row.value(column)
        return content.value
    }
}

extension Bool: ColumnValue {
    /// Reads `boolean`.
    public static func read(_ column: String, of row: ResultRow) throws(BrocotError) -> Bool {
        try row.value(column)
    }
}

extension Optional: ColumnValue where Wrapped: ColumnValue {
    /// Reads NULL as nil.
    public static func read(_ column: String, of row: ResultRow) throws(BrocotError) -> Wrapped? {
        let test: NullTest = try row.value(column)
        return test.isNull ? nil : try Wrapped.read(column, of: row)
    }
}

extension Date: ColumnValue {
    /// Reads `timestamptz`. A `Date` is exact to about a microsecond; `infinity` can't be read.
    public static func read(_ column: String, of row: ResultRow) throws(BrocotError) -> Date {
        let time: Timestamp = try row.value(column)
        guard time.isFinite else {
            throw BrocotError(.unreadableValue, "column \(column) is \(time), which is no Date")
        }
        return Date(timeIntervalSince1970: Double(time.microsecondsSinceEpoch) / 1e6)
    }
}

private struct DoubleContent: PostgresDecodable {
    static let decodedName = "Double"
    let value: Double

    init(_ cell: Cell) throws(DecodingFailure) {
        guard cell.type == .doublePrecision else { throw .unsupportedType }
        value = Double(bitPattern: try cell.integer(UInt64.self))
    }
}

private struct UUIDContent: PostgresDecodable {
    static let decodedName = "UUID"
    let value: UUID

    init(_ cell: Cell) throws(DecodingFailure) {
        guard cell.type == .uuid else { throw .unsupportedType }
        let bytes = try cell.value()
        guard bytes.count == MemoryLayout<uuid_t>.size else { throw .malformed("\(bytes.count) bytes") }
        value = UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}

/// Reads from a column of any type whether it is NULL.
private struct NullTest: PostgresDecodable {
    static let decodedName = "any value"
    let isNull: Bool

    init(_ cell: Cell) throws(DecodingFailure) { isNull = cell.bytes == nil }
}
