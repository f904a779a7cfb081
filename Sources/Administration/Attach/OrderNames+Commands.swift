import Ordering

extension OrderNames {
    /// The command that detaches this order, for messages.
    package var detachCommand: String {
        let name = "\(schema).\(table)".quotedForShell
        return "brocot detach \(name)\(rank == Self.usualRankColumn ? "" : " --rank \(rank.quotedForShell)")"
    }
}

extension String {
    /// The text as one word of a shell. It is quoted unless it consists of letters, digits, dots and underscores of ASCII.
    package var quotedForShell: String {
        let isPlain =
            !isEmpty
            && utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || byte == UInt8(ascii: "_")
                    || byte == UInt8(ascii: ".")
            }
        return isPlain ? self : "'" + replacing("'", with: #"'\''"#) + "'"
    }
}
