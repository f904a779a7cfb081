/// Reads what a server sends, to find the server's process and when the server is ready for the next statement. Pure.
struct AnswerFraming {
    /// The process identifier of the server process; 0 before the server has sent it.
    private(set) var serverProcess: Int32 = 0
    /// How often the server was ready.
    private(set) var readyCount = 0
    /// Whether a transaction was open when the server was last ready.
    private(set) var isInTransaction = false

    private var singleBytes = 0
    private var unread: [UInt8] = []
    private var bytesToSkip = 0

    /// Whether the next byte answers a request for encryption, so that it is no message.
    mutating func expectSingleByte() { singleBytes += 1 }

    mutating func append(_ bytes: [UInt8]) {
        var rest = bytes[...]
        let answered = min(singleBytes, rest.count)
        singleBytes -= answered
        rest = rest.dropFirst(answered)
        while !rest.isEmpty {
            if bytesToSkip > 0 {
                let skipped = min(bytesToSkip, rest.count)
                bytesToSkip -= skipped
                rest = rest.dropFirst(skipped)
                continue
            }
            unread.append(rest.removeFirst())
            takeMessage()
        }
    }

    private mutating func takeMessage() {
        guard unread.count >= 5 else { return }
        let length = unread.bigEndianInteger(at: 1) + 1
        switch unread[0] {
        case UInt8(ascii: "K"):
            guard unread.count == length else { return }
            serverProcess = Int32(truncatingIfNeeded: unread.bigEndianInteger(at: 5))
        case UInt8(ascii: "Z"):
            guard unread.count == length else { return }
            readyCount += 1
            isInTransaction = unread[5] != UInt8(ascii: "I")
        default:
            bytesToSkip = length - 5
        }
        unread = []
    }
}
