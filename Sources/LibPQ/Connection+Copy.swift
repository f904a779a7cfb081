internal import CLibPQ

extension Connection {
    /// Inserts rows with COPY, the fastest way to insert many rows.
    ///
    /// - Parameters:
    ///   - statement: `COPY table (columns) FROM STDIN`, in the text format, which is the default.
    ///   - rows: The values as text, in the order of the columns; nil is NULL.
    /// - Returns: The number of rows that the server inserted.
    /// - Throws: `invalidValue` if a text contains a NUL character; nothing is copied then. Else what ``query(_:prepared:)``
    ///   throws.
    @discardableResult
    package func copyIn(_ statement: String, rows: some Sequence<[String?]>) throws(PostgresError) -> Int {
        try refuseNul(statement)
        let start = ContinuousClock.now
        let result = try exchange(
            copyIn: { pointer throws(PostgresError) in try send(rows, pointer, since: start) },
            send: { pointer in PQsendQuery(pointer, statement) })
        return result.affectedRows
    }

    private func send(
        _ rows: some Sequence<[String?]>, _ pointer: OpaquePointer, since start: ContinuousClock.Instant
    ) throws(PostgresError) {
        var encoder = CopyTextEncoder()
        for row in rows {
            try encoder.append(row)
            guard encoder.bytes.count >= CopyTextEncoder.chunkSize else { continue }
            guard try put(encoder.takeBytes(), pointer, since: start) else { return }
        }
        guard try put(encoder.takeBytes(), pointer, since: start) else { return }
        PQputCopyEnd(pointer, nil)
    }

    /// Sends data. Returns false if the server accepts no more data; the statement's result says why.
    private func put(
        _ bytes: [UInt8], _ pointer: OpaquePointer, since start: ContinuousClock.Instant
    ) throws(PostgresError) -> Bool {
        guard interruption.cancelledAt == nil else {
            throw PostgresError(.cancelled, "the task was cancelled during COPY")
        }
        let outcome = bytes.withUnsafeBytes { buffer in
            PQputCopyData(pointer, buffer.bindMemory(to: CChar.self).baseAddress, Int32(buffer.count))
        }
        guard outcome == 1 else {
            PQputCopyEnd(pointer, "the data can't be sent")
            return false
        }
        try flush(pointer, since: start)
        return true
    }
}

/// COPY's text format: tabs between columns, line feeds between rows, `\N` for NULL
/// (<https://www.postgresql.org/docs/current/sql-copy.html>, "Text Format").
struct CopyTextEncoder {
    static let chunkSize = 64 * 1024

    private(set) var bytes: [UInt8] = []
    private var rowNumber = 0

    mutating func append(_ row: [String?]) throws(PostgresError) {
        rowNumber += 1
        for (index, value) in row.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "\t")) }
            guard let value else {
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(UInt8(ascii: "N"))
                continue
            }
            for byte in value.utf8 {
                guard let escape = Self.escape(byte) else {
                    bytes.append(byte)
                    continue
                }
                guard escape != 0 else {
                    throw PostgresError(
                        .invalidValue, "row \(rowNumber), value \(index + 1) of COPY: \(reasonNulIsInvalid)")
                }
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(escape)
            }
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    mutating func takeBytes() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    /// The byte after the backslash: nil if the byte is sent unchanged, 0 if it can't be sent.
    private static func escape(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\\"): UInt8(ascii: "\\")
        case UInt8(ascii: "\t"): UInt8(ascii: "t")
        case UInt8(ascii: "\n"): UInt8(ascii: "n")
        case UInt8(ascii: "\r"): UInt8(ascii: "r")
        case 0: 0
        default: nil
        }
    }
}
