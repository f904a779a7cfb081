#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The datagram socket with which a service reports its state to systemd:
/// <https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html>.
struct NotifySocket: Sendable {
    /// A path, or a name in the abstract namespace after an `@`.
    let address: String

    /// Nil if the address is neither, or too long.
    init?(_ address: String) {
        guard address.hasPrefix("/") || address.hasPrefix("@"), address.utf8.count > 1,
            address.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        else { return nil }
        self.address = address
    }

    /// Sends one message of lines `NAME=value`. Errors are ignored: the service works without systemd too.
    func send(_ message: String) {
        #if canImport(Glibc)
            let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #else
            let descriptor = socket(AF_UNIX, SOCK_DGRAM, 0)
        #endif
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var destination = sockaddr_un()
        destination.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(address.utf8)
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &destination.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + bytes.count)
        let text = Array(message.utf8)
        withUnsafePointer(to: &destination) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                _ = sendto(descriptor, text, text.count, Int32(MSG_DONTWAIT), generic, length)
            }
        }
    }
}
