#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// TCP ports of the loopback address 127.0.0.1.
package enum LoopbackPort {
    /// A free port, chosen by the system. Another process may take it before the caller does.
    package static func free() throws(LocalPostgresError) -> UInt16 {
        guard let port = bind(0) else {
            throw .fileSystem(
                operation: "find a free port on", path: "127.0.0.1", reason: String(cString: strerror(errno)))
        }
        return port
    }

    /// Whether `port` is free at this moment.
    static func isFree(_ port: UInt16) -> Bool {
        bind(port) != nil
    }

    /// Binds a socket, closes it, and returns its port; nil if the port is in use.
    private static func bind(_ port: UInt16) -> UInt16? {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // PostgreSQL sets this option too, so connections in TIME_WAIT of an earlier server do not block the port.
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic -> UInt16? in
                #if canImport(Glibc)
                    let bound = Glibc.bind(descriptor, generic, length)
                #else
                    let bound = Darwin.bind(descriptor, generic, length)
                #endif
                guard bound == 0, getsockname(descriptor, generic, &length) == 0 else { return nil }
                return UInt16(bigEndian: pointer.pointee.sin_port)
            }
        }
    }
}
