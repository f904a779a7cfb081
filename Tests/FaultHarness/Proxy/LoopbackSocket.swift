import Glibc

/// A call of the operating system that failed.
package struct SystemError: Error, CustomStringConvertible {
    package let operation: String
    package let number: Int32

    package var description: String { "\(operation): \(String(cString: strerror(number)))" }
}

/// Sockets on 127.0.0.1 that no subprocess inherits: a copy would keep a connection open that was cut.
package enum LoopbackSocket {
    /// A socket that listens on a port that was free.
    static func listen() throws -> (descriptor: Int32, port: UInt16) {
        let finder = try open()
        defer { close(finder) }
        let port = try bind(finder, to: 0)
        // A socket keeps its port after ``stopListening(_:)`` only if it asked for this very port.
        let descriptor = try open()
        do {
            _ = try bind(descriptor, to: port)
            try listenAgain(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        return (descriptor, port)
    }

    /// Stops listening. The socket keeps its port, so no other program gets it, and the kernel refuses connections to
    /// it.
    static func stopListening(_ listener: Int32) { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Listens on the socket's port, also after ``stopListening(_:)``.
    static func listenAgain(_ listener: Int32) throws {
        guard Glibc.listen(listener, 128) == 0 else {
            throw SystemError(operation: "listen on 127.0.0.1", number: errno)
        }
    }

    /// Gives the socket this port, or a free one instead of 0, and returns the port. Sockets of this function can share a port
    /// while none of them listens.
    private static func bind(_ descriptor: Int32, to port: UInt16) throws -> UInt16 {
        var isOn: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        var address = address(port: port)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let outcome = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                Glibc.bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        guard outcome else { throw SystemError(operation: "bind a socket to 127.0.0.1", number: errno) }
        return UInt16(bigEndian: address.sin_port)
    }

    /// The next connection that waits to be accepted, as a non-blocking socket.
    static func accept(_ listener: Int32) -> Int32? {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return nil }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        sendAtOnce(descriptor)
        return descriptor
    }

    /// A non-blocking connection; nil if no program listens on the port.
    package static func connect(port: UInt16) -> Int32? {
        guard let descriptor = try? open() else { return nil }
        var address = address(port: port)
        let outcome = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard outcome == 0 else {
            close(descriptor)
            return nil
        }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        sendAtOnce(descriptor)
        return descriptor
    }

    private static func open() throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError(operation: "open a socket", number: errno) }
        return descriptor
    }

    private static func sendAtOnce(_ descriptor: Int32) {
        var isOn: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}

/// A socket on 127.0.0.1 that accepts connections and sends nothing.
package final class SilentListener: Sendable {
    package let port: UInt16
    private let descriptor: Int32

    package init() throws {
        (descriptor, port) = try LoopbackSocket.listen()
    }

    deinit {
        close(descriptor)
    }

    /// Whether a client has connected.
    package var hasCaller: Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&state, 1, 0) > 0
    }
}
