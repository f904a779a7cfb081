/// The lines of a text that is read in pieces. Each line is the key of an item.
///
/// The sequence ends at the first line that can't be a key. Then ``fault`` is set.
final class ImportedLines: IteratorProtocol {
    /// A line that can't be imported.
    struct Fault: Equatable {
        /// Counted from 1.
        let line: Int
        let reason: String
    }

    private let read: () throws -> [UInt8]
    private let column: KeyColumn
    private var bytes: [UInt8] = []
    /// The beginning of the next line in ``bytes``.
    private var start = 0
    private var isAtEnd = false
    /// The number of lines that were returned.
    private(set) var count = 0
    private(set) var fault: Fault?
    /// The error that `read` threw.
    private(set) var readError: (any Error)?

    /// - Parameters:
    ///   - column: The column of the keys.
    ///   - read: Returns the next piece of the text in UTF-8; empty at its end.
    init(keysOf column: KeyColumn, read: @escaping () throws -> [UInt8]) {
        self.column = column
        self.read = read
    }

    func next() -> String? {
        guard fault == nil, readError == nil, var line = nextLine() else { return nil }
        if count == 0, line.starts(with: Self.byteOrderMark) { line = line.dropFirst(Self.byteOrderMark.count) }
        // The rest of a line that is too long may be missing.
        guard line.count <= Move.longestKey else { return refuse(Self.tooLong) }
        guard let key = String(validating: line, as: UTF8.self) else { return refuse("it is not UTF-8") }
        if let reason = Self.reason(against: key, of: column) { return refuse(reason) }
        count += 1
        return key
    }

    /// U+FEFF in UTF-8. Some programs put it at the beginning of a text; it is no part of the first key.
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let tooLong = "it has more than \(Move.longestKey) bytes"

    private func refuse(_ reason: String) -> String? {
        fault = Fault(line: count + 1, reason: reason)
        return nil
    }

    /// Why the text can't be a key; nil if it can.
    private static func reason(against key: String, of column: KeyColumn) -> String? {
        if key.isEmpty { return "it is empty" }
        if key.utf8.contains(0) { return "it has a NUL character" }
        if column.type.isOutOfRange(key) { return "'\(key)' is out of range for type \(column.type.name)" }
        guard column.type.isCanonical(key) else {
            return "'\(key)' is not \(column.type.nameWithArticle) as PostgreSQL prints it"
        }
        return nil
    }

    /// The next line, without its line feed and without a carriage return before the line feed. If a line is longer than any key, this is
    /// its beginning: no more of it is read.
    private func nextLine() -> ArraySlice<UInt8>? {
        var searched = start
        while true {
            if let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return line(upTo: end)
            }
            // The carriage return and the byte order mark don't count.
            guard !isAtEnd, bytes.count - start <= Move.longestKey + 1 + Self.byteOrderMark.count else {
                defer { start = bytes.count }
                return start < bytes.count ? line(upTo: bytes.count) : nil
            }
            searched = bytes.count - start
            bytes.removeSubrange(..<start)
            start = 0
            do {
                let piece = try read()
                isAtEnd = piece.isEmpty
                bytes += piece
            } catch {
                readError = error
                return nil
            }
        }
    }

    private func line(upTo end: Int) -> ArraySlice<UInt8> {
        let line = bytes[start..<end]
        return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    }
}
