import Dispatch
import Glibc
import Synchronization

/// A socket on 127.0.0.1 that takes connections and never says a word.
final class SilentListener: Sendable {
    let port: UInt16
    let descriptor: Int32

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = loopbackAddress(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let outcome = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) + listen(descriptor, 16) + getsockname(descriptor, address, &length)
            }
        }
        guard outcome == 0 else { throw SystemError(number: errno) }
        self.descriptor = descriptor
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit {
        close(descriptor)
    }
}

struct SystemError: Error {
    let number: Int32
}

/// Stands between a client and a server on 127.0.0.1, and breaks at a chosen moment.
final class BreakingProxy: Sendable {
    enum Fault: Sendable {
        /// Passes the statement on, waits for the server's answer, and hangs up on the client without it.
        case hangUpAfterAnswerTo(String)
        /// From the statement on, passes nothing on, in either direction and on no connection.
        case freezeAt(String)
    }

    private let listener: SilentListener
    private let serverPort: UInt16
    private let fault: Fault
    private let frozen = Mutex(false)
    private let descriptors = Mutex<[Int32]>([])
    private let queue = DispatchQueue(label: "BreakingProxy", attributes: .concurrent)

    var port: UInt16 { listener.port }
    /// Whether the statement to freeze at has come.
    var isFrozen: Bool { frozen.withLock { $0 } }

    init(serverPort: UInt16, fault: Fault) throws {
        listener = try SilentListener()
        self.serverPort = serverPort
        self.fault = fault
        queue.async { [self] in acceptConnections() }
    }

    /// Ends all connections.
    func stop() {
        shutdown(listener.descriptor, Int32(SHUT_RDWR))
        for descriptor in descriptors.withLock({ $0 }) { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    private func acceptConnections() {
        while true {
            let client = accept(listener.descriptor, nil, nil)
            guard client >= 0 else { return }
            descriptors.withLock { $0.append(client) }
            if isFrozen { continue }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = loopbackAddress(port: serverPort)
            _ = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            descriptors.withLock { $0.append(server) }
            let link = Link(client: client, server: server)
            queue.async { [self] in passRequests(link) }
            queue.async { [self] in passAnswers(link) }
        }
    }

    private final class Link: Sendable {
        let client: Int32
        let server: Int32
        let hasSentFatalStatement = Atomic(false)

        init(client: Int32, server: Int32) {
            self.client = client
            self.server = server
        }
    }

    private func passRequests(_ link: Link) {
        while let bytes = receive(link.client) {
            let text = String(decoding: bytes, as: UTF8.self)
            switch fault {
            case .hangUpAfterAnswerTo(let statement) where text.contains(statement):
                link.hasSentFatalStatement.store(true, ordering: .sequentiallyConsistent)
            case .freezeAt(let statement) where text.contains(statement):
                frozen.withLock { $0 = true }
                return
            default: break
            }
            transmit(bytes, to: link.server)
        }
        shutdown(link.server, Int32(SHUT_RDWR))
    }

    private func passAnswers(_ link: Link) {
        while let bytes = receive(link.server) {
            if isFrozen { return }
            if link.hasSentFatalStatement.load(ordering: .sequentiallyConsistent) { break }
            transmit(bytes, to: link.client)
        }
        shutdown(link.client, Int32(SHUT_RDWR))
    }
}

private func receive(_ descriptor: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return count > 0 ? Array(bytes[..<count]) : nil
}

private func transmit(_ bytes: [UInt8], to descriptor: Int32) {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
    }
}

private func loopbackAddress(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
}
