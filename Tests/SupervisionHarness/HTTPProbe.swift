import TestPostgres

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// One HTTP request to a port of 127.0.0.1.
package struct HTTPProbe: Sendable {
    package let status: Int
    package let body: String

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    package static func get(_ path: String, port: UInt16, method: String = "GET") async throws -> HTTPProbe {
        // The request blocks, so it has its own thread: the tests share few threads.
        let answer = try await withCheckedThrowingContinuation { continuation in
            let exchange = Exchange(port: port, request: "\(method) \(path) HTTP/1.0\r\nHost: localhost\r\n\r\n") {
                continuation.resume(with: $0)
            }
            exchange.start()
        }
        let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard let status = answer.split(separator: " ").dropFirst().first.flatMap({ Int($0) }), parts.count == 2 else {
            throw Failure(description: "the answer to \(path) is not of HTTP: \(answer)")
        }
        return HTTPProbe(status: status, body: String(parts[1]))
    }

    /// Asks until the answer is as expected, for two minutes at most.
    @discardableResult
    package static func wait(
        for path: String, port: UInt16, until isExpected: (HTTPProbe) -> Bool
    ) async throws -> HTTPProbe {
        try await eventually(
            "\(path) is answered as expected", within: .seconds(120),
            read: { try await get(path, port: port) }, until: isExpected)
    }

    /// Asks until the daemon is ready, for two minutes at most.
    package static func waitUntilReady(port: UInt16) async throws {
        try await wait(for: "/readyz", port: port) { $0.status == 200 }
    }

    /// The value of a metric, whose name contains its labels if it has any.
    package static func metric(_ name: String, port: UInt16) async throws -> Double {
        let lines = try await get("/metrics", port: port).body.split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("\(name) ") }),
            let value = Double(line.dropFirst(name.count + 1))
        else { throw Failure(description: "there is no metric \(name) that is a number") }
        return value
    }

    private struct Exchange: Sendable {
        let port: UInt16
        let request: String
        let done: @Sendable (Result<String, any Error>) -> Void

        func start() {
            var thread = pthread_t()
            let argument = Unmanaged.passRetained(Box(self)).toOpaque()
            pthread_create(
                &thread, nil,
                { argument in
                    let box = Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue()
                    box.exchange.done(Result { try box.exchange.run() })
                    return nil
                }, argument)
            pthread_detach(thread)
        }

        private func run() throws -> String {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            defer { close(descriptor) }
            var timeout = timeval(tv_sec: 30, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let connected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            let bytes = Array(request.utf8)
            guard connected == 0, send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
            else { throw Failure(description: "could not send to port \(port): error \(errno)") }
            var answer: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                // A stop of this process ends the wait.
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw Failure(description: "the answer was cut off: error \(errno)") }
                guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
                answer += buffer[..<count]
            }
        }
    }

    private final class Box: Sendable {
        let exchange: Exchange
        init(_ exchange: Exchange) { self.exchange = exchange }
    }
}
