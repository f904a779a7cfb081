/// The address on which an HTTP server listens: `127.0.0.1:9187`, `[::1]:9187`, `localhost:9187`.
package struct ProbeAddress: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: Int

    /// Nil if the text has no host or no port.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.allSatisfy({ !$0.isWhitespace && $0 != "/" }) else { return nil }
        self.host = String(host)
        self.port = Int(port)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
