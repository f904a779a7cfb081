import FaultHarness
import NIOCore
import SupervisionHarness
import TestLimit
import TestPostgres
import Testing

@testable import Supervision

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("HTTP server for probes", .usualTimeLimit) struct ProbeServerTests {
    @Test("The server closes a connection that never completes a request, and answers other clients meanwhile")
    func slowClient() async throws {
        try await withServer(patience: .seconds(1)) { port in
            let slow = try RawConnection(port: port)
            slow.send("GET /small HTTP/1.1\r\nX: ")
            try await eventually("the connection is closed", pause: .milliseconds(100)) {
                let status = try await HTTPProbe.get("/small", port: port).status
                #expect(status == 200)
                slow.send("a")
                return slow.isClosed()
            }
        }
    }

    @Test("The server answers one request of a connection, and then closes the connection")
    func oneRequest() async throws {
        try await withServer { port in
            let client = try RawConnection(port: port)
            client.send(String(repeating: "GET /small HTTP/1.1\r\nHost: a\r\n\r\n", count: 100))
            let received = try await client.receive(until: "no such text")
            #expect(received.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(received.ranges(of: "HTTP/1.1").count == 1 && received.contains("Connection: close"))
        }
    }

    @Test("The server refuses invalid requests, endless headers and POST requests")
    func invalidRequests() async throws {
        try await withServer { port in
            let stranger = try RawConnection(port: port)
            stranger.send("nonsense\r\n\r\n")
            #expect(try await stranger.receive(until: "\r\n").hasPrefix("HTTP/1.1 400 "))
            let endless = try RawConnection(port: port)
            endless.send("GET /small HTTP/1.1\r\n")
            var sent = 0
            try await eventually("headers without end are refused", pause: .zero) {
                sent += endless.send("X: " + String(repeating: "a", count: 10_000) + "\r\n")
                return endless.isClosed() || sent > 10_000_000
            }
            #expect(sent < 10_000_000)
            let body = try RawConnection(port: port)
            body.send("POST /small HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + String(repeating: "a", count: 100_000))
            #expect(try await body.receive(until: "answered").hasPrefix("HTTP/1.1 405 "))
        }
    }

    @Test("The server closes the oldest slow connections to answer probes if there are too many connections")
    func manyConnections() async throws {
        try await withServer { port in
            var clients: [RawConnection] = []
            for _ in 0..<(2 * ProbeServer.mostConnections) {
                let client = try RawConnection(port: port)
                client.send("GET /small HTTP/1.1\r\nX: ")
                clients.append(client)
            }
            for _ in 0..<5 { #expect(try await HTTPProbe.get("/small", port: port).status == 200) }
            try await eventually("the oldest connections are closed") {
                clients.prefix(ProbeServer.mostConnections).count { !$0.isClosed() }
            } until: {
                $0 == 0
            }
            #expect(clients.suffix(10).allSatisfy { !$0.isClosed() })
        }
    }

    @Test("The server accepts no connections for a moment after one that could not be accepted")
    func pausesAfterRefusal() async throws {
        let address = try #require(ProbeAddress("127.0.0.1:0"))
        let server = try await ProbeServer.start(at: address, routes: ["/small": { ProbeAnswer(body: "small") }])
        let channel = server.channel
        try await whileRunning("the server", { try await server.run() }) {
            let accepts = try await channel.eventLoop.submit {
                channel.pipeline.syncOperations.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept"))
                return try channel.syncOptions?.getOption(.autoRead)
            }.get()
            #expect(accepts == false)
            try await eventually("the server accepts connections again") {
                try await channel.getOption(.autoRead).get()
            }
            #expect(try await HTTPProbe.get("/small", port: UInt16(server.port)).status == 200)
        }
    }

    private func withServer(patience: Duration = .seconds(60), _ body: (UInt16) async throws -> Void) async throws {
        let address = try #require(ProbeAddress("127.0.0.1:0"))
        let server = try await ProbeServer.start(
            at: address,
            routes: ["/small": { ProbeAnswer(body: "small") }], patience: patience)
        try await whileRunning("the server", { try await server.run() }) { try await body(UInt16(server.port)) }
    }
}

/// A client that sends any bytes, and does not wait for answers.
private final class RawConnection {
    private let descriptor: Int32

    struct Failure: Error {}

    init(port: UInt16) throws {
        guard let descriptor = LoopbackSocket.connect(port: port) else { throw Failure() }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// How many bytes the other side took at once.
    @discardableResult func send(_ text: String) -> Int {
        let bytes = Array(text.utf8)
        return max(0, Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)))
    }

    /// Whether the other side has closed it. What it had sent before is lost.
    func isClosed() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count == 0 || (count < 0 && errno != EAGAIN)
    }

    /// The received text up to this text; less if the other side closes the connection before.
    func receive(until text: String) async throws -> String {
        var received = ""
        return try await eventually("\"\(text)\" is received, or the connection is closed", pause: .milliseconds(5)) {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 { received += String(decoding: buffer[..<count], as: UTF8.self) }
            return (text: received, isClosed: count == 0 || (count < 0 && errno != EAGAIN))
        } until: {
            $0.isClosed || $0.text.contains(text)
        }.text
    }
}
