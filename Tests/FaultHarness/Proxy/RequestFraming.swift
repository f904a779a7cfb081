/// Cuts what a client sends into what the server answers as a whole. Pure.
///
/// From <https://www.postgresql.org/docs/current/protocol-message-formats.html>: every message has a letter and a length
/// in four bytes, but for those before the session begins, which have no letter.
struct RequestFraming {
    enum Unit: Equatable {
        /// All messages of one statement, up to the one after which the server says that it is ready for the next.
        case statement(text: String, bytes: [UInt8])
        /// What has its place between statements, or begins and ends the session.
        case other([UInt8])
        /// Asks for encryption: the answer is a single byte.
        case encryptionRequest([UInt8])
    }

    private var unread: [UInt8] = []
    private var hasBegun = false
    private var text = ""
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
        // A request to cancel is all that its connection carries.
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
            let nameEnd = message[5...].firstIndex(of: 0) ?? message.endIndex - 1
            text = message.string(at: nameEnd + 1)
            statement += message
        case UInt8(ascii: "B"), UInt8(ascii: "D"), UInt8(ascii: "E"), UInt8(ascii: "C"):
            statement += message
        case UInt8(ascii: "S"):
            defer { (text, statement) = ("", []) }
            return .statement(text: text, bytes: statement + message)
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

    /// Up to the NUL that ends it.
    fileprivate func string(at place: Int) -> String {
        String(decoding: self[Swift.min(place, endIndex)...].prefix { $0 != 0 }, as: UTF8.self)
    }
}
