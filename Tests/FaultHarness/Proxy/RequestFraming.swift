/// Splits what a client sends into units, each of which the server answers as a whole. Pure.
///
/// From <https://www.postgresql.org/docs/current/protocol-message-formats.html>: every message has a letter and a
/// length in four bytes. The messages before the session begins have no letter.
struct RequestFraming {
    enum Unit: Equatable {
        /// All messages of one statement, up to the one after which the server says that it is ready for the next.
        case statement(text: String, bytes: [UInt8])
        /// Messages that are no part of the execution of a statement, such as those that begin or end the session, or
        /// parse a statement.
        case other([UInt8])
        /// Asks for encryption: the answer is a single byte.
        case encryptionRequest([UInt8])
    }

    private var unread: [UInt8] = []
    private var hasBegun = false
    /// The SQL of each prepared statement, by its name; the unnamed one's is empty.
    private var prepared: [String: String] = [:]
    private var text = ""
    private var isRun = false
    private var statement: [UInt8] = []

    mutating func append(_ bytes: some Sequence<UInt8>) -> [Unit] {
        unread += bytes
        var units: [Unit] = []
        var place = 0
        while let length = lengthOfMessage(at: place) {
            let message = Array(unread[place..<(place + length)])
            place += length
            if let unit = hasBegun ? takeMessage(message) : takeOpening(message) { units.append(unit) }
        }
        unread.removeFirst(place)
        return units
    }

    /// The length of the message that begins there, if all of it has come.
    private func lengthOfMessage(at place: Int) -> Int? {
        let letter = hasBegun ? 1 : 0
        guard unread.count >= place + letter + 4 else { return nil }
        let length = letter + unread.bigEndianInteger(at: place + letter)
        return unread.count >= place + length ? length : nil
    }

    private mutating func takeOpening(_ message: [UInt8]) -> Unit {
        switch message.count >= 8 ? message.bigEndianInteger(at: 4) : 0 {
        case 80_877_103, 80_877_104: return .encryptionRequest(message)
        // A connection with a request to cancel has no other message.
        case 80_877_102: return .other(message)
        default:
            hasBegun = true
            return .other(message)
        }
    }

    private mutating func takeMessage(_ message: [UInt8]) -> Unit? {
        switch message[0] {
        case UInt8(ascii: "Q"):
            return .statement(text: message.string(at: 5), bytes: message)
        case UInt8(ascii: "P"):
            prepared[message.string(at: 5)] = message.string(at: message.endOfString(at: 5))
            statement += message
        case UInt8(ascii: "B"):
            text = prepared[message.string(at: message.endOfString(at: 5))] ?? ""
            statement += message
        case UInt8(ascii: "E"):
            isRun = true
            statement += message
        case UInt8(ascii: "D"), UInt8(ascii: "C"):
            statement += message
        case UInt8(ascii: "S"):
            defer { (text, isRun, statement) = ("", false, []) }
            return isRun ? .statement(text: text, bytes: statement + message) : .other(statement + message)
        default:
            return .other(message)
        }
        return nil
    }
}

extension [UInt8] {
    func bigEndianInteger(at place: Int) -> Int {
        self[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) }
    }

    /// The place after the NUL that ends the string there.
    fileprivate func endOfString(at place: Int) -> Int { (self[place...].firstIndex(of: 0) ?? endIndex - 1) + 1 }

    /// Up to the NUL that ends it.
    fileprivate func string(at place: Int) -> String {
        String(decoding: self[Swift.min(place, endIndex)...].prefix { $0 != 0 }, as: UTF8.self)
    }
}
