import TestPostgres

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A stand-in for systemd's end of the notify socket.
package final class NotifyReceiver: Sendable {
    /// The value of `NOTIFY_SOCKET`.
    package let address: String
    private let descriptor: Int32

    struct Failure: Error {}

    /// Listens at a path, or at a name in the abstract namespace after an `@`.
    package init(at address: String) throws {
        self.address = address
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var local = sockaddr_un()
        local.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(address.utf8)
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &local.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + bytes.count)
        let bound = withUnsafePointer(to: &local) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard bound == 0 else { throw Failure() }
    }

    deinit { close(descriptor) }

    /// The assignments that have arrived since the last call, such as `READY=1`.
    package func received() -> [String] {
        var lines: [String] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return lines }
            lines += String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    /// Waits until an assignment has arrived, and returns all those up to then.
    @discardableResult
    package func wait(for assignment: String) async throws -> [String] {
        var all: [String] = []
        return try await eventually(
            "systemd is told \(assignment)", within: .seconds(120),
            read: {
                all += received()
                return all
            }, until: { $0.contains { $0.hasPrefix(assignment) } })
    }
}
