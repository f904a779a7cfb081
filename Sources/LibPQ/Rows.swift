internal import CLibPQ

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The rows that a statement returned.
package struct Rows: RandomAccessCollection, Sendable {
    private let result: ResultHandle
    package let count: Int

    init(_ result: ResultHandle) {
        self.result = result
        count = Int(PQntuples(result.pointer))
    }

    /// How many rows the statement changed, or for a SELECT returned.
    package var affectedRows: Int { result.affectedRows }

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(index: Int) -> Row {
        precondition(indices.contains(index), "there is no row \(index)")
        return Row(result: result, index: Int32(index))
    }

    /// The only row.
    ///
    /// - Throws: `decoding` if there is no row or more than one.
    package func single() throws(PostgresError) -> Row {
        guard count == 1 else {
            throw PostgresError(.decoding, "the statement returned \(count) rows instead of one")
        }
        return self[0]
    }
}

/// One row of a result.
package struct Row: Sendable {
    fileprivate let result: ResultHandle
    fileprivate let index: Int32

    /// Reads a column by its number, counted from 0. This is faster than by name.
    ///
    /// - Throws: `decoding`, with the column's name and type.
    // Other modules call the generic code. The types of most columns get specialized code, which is faster.
    @_specialize(where Value == Int64)
    @_specialize(where Value == Int)
    @_specialize(where Value == String)
    @_specialize(where Value == Int64?)
    @_specialize(where Value == String?)
    package func decode<Value: PostgresDecodable>(
        _ column: Int, as _: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        let columnIndex = Int32(truncatingIfNeeded: column)
        guard column >= 0, column < Int(PQnfields(result.pointer)) else {
            throw PostgresError(
                .decoding, "there is no column \(column); the result has \(PQnfields(result.pointer)), counted from 0")
        }
        do throws(DecodingFailure) {
            return try Value(result.cell(row: index, column: columnIndex))
        } catch {
            throw decodingError(error, column, Value.decodedName)
        }
    }

    /// Reads a column that an enumeration beside the statement names. The cases are in the order of the columns.
    ///
    /// - Parameters:
    ///   - column: The column.
    ///   - first: The number of the column of the first case, counted from 0.
    ///   - type: The type of the value.
    /// - Returns: The value.
    /// - Throws: `decoding`, with the column's name and type.
    @inlinable
    package func decode<Column: RawRepresentable<Int>, Value: PostgresDecodable>(
        _ column: Column, from first: Int = 0, as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        try decode(first + column.rawValue, as: type)
    }

    /// Reads a column by its exact name in the result.
    ///
    /// - Throws: `decoding`, with the column's name and type.
    package func decode<Value: PostgresDecodable>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        guard let index = result.columnIndex(column) else {
            let names = (0..<Int(PQnfields(result.pointer))).map(result.columnName)
            throw PostgresError(
                .decoding, "there is no column \"\(column)\"; the result has \(names.joined(separator: ", "))")
        }
        return try decode(index, as: type)
    }

    private func decodingError(_ failure: DecodingFailure, _ column: Int, _ target: String) -> PostgresError {
        let type = PostgresType(rawValue: PQftype(result.pointer, Int32(column)))
        let name = result.columnName(column)
        let reason =
            switch failure {
            case .null: "it is NULL"
            case .unsupportedType: "there is no such conversion; cast it in the statement"
            case .malformed(let reason): reason
            }
        return PostgresError(
            fields: .init(
                code: .decoding,
                message: """
                    row \(index + 1), column \(column) "\(name)" of type \(type) can't be read as \(target): \(reason)
                    """))
    }
}

extension ResultHandle {
    func columnName(_ column: Int) -> String {
        PQfname(pointer, Int32(column)).map { String(cString: $0) } ?? ""
    }

    /// The number of a column. (`PQfnumber` isn't used because it folds the case of names.)
    fileprivate func columnIndex(_ name: String) -> Int? {
        (0..<PQnfields(pointer)).first { strcmp(PQfname(pointer, $0), name) == 0 }.map(Int.init)
    }

    /// The cell is valid as long as the result exists.
    fileprivate func cell(row: Int32, column: Int32) -> Cell {
        let type = PostgresType(rawValue: PQftype(pointer, column))
        guard PQgetisnull(pointer, row, column) == 0 else { return Cell(type: type, bytes: nil) }
        return Cell(
            type: type,
            bytes: UnsafeRawBufferPointer(
                start: PQgetvalue(pointer, row, column), count: Int(PQgetlength(pointer, row, column))))
    }
}
