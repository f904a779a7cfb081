import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The answer to a probe.
package struct ProbeAnswer: Sendable {
    package let status: Int
    package let contentType: String
    package let body: String

    package init(status: Int = 200, contentType: String = "text/plain; charset=utf-8", body: String) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }
}

/// A small HTTP server for health probes and metrics. It answers GET and HEAD for fixed paths on its own thread, so that it
/// answers even if the rest of the program is busy.
package final class ProbeServer: Service {
    /// The function that answers each path. It is called on the server's thread and must not block.
    package typealias Routes = [String: @Sendable () -> ProbeAnswer]

    /// The limit of open connections. Beyond it the oldest connection is closed: a probe takes milliseconds, so the oldest
    /// connection is most likely one that sends nothing.
    package static let mostConnections = 64

    /// The port that the server listens on.
    package let port: Int
    let channel: any Channel
    private let group: MultiThreadedEventLoopGroup

    /// Starts to listen. Port 0 means any free port. Each connection can send one request; request and answer together may
    /// take `patience`, even if the client keeps sending.
    ///
    /// - Throws: ``ProbeServerError`` if the server can't listen on the address.
    package static func start(
        at address: ProbeAddress, routes: Routes, patience: Duration = .seconds(10)
    ) async throws(ProbeServerError) -> ProbeServer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let connections = OpenConnections()
        let patience = TimeAmount(patience)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(PauseAfterRefusal())
                }
            }
            .childChannelInitializer { channel in
                connections.admit(channel)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                        withPipeliningAssistance: false, withErrorHandling: true)
                    try channel.pipeline.syncOperations.addHandler(ProbeHandler(routes, patience: patience))
                }
            }
        do {
            let channel = try await bootstrap.bind(host: address.host, port: address.port).get()
            return ProbeServer(channel: channel, group: group)
        } catch {
            try? await group.shutdownGracefully()
            throw ProbeServerError(address: address, underlying: error)
        }
    }

    private init(channel: any Channel, group: MultiThreadedEventLoopGroup) {
        self.channel = channel
        self.group = group
        port = channel.localAddress?.port ?? 0
    }

    /// Answers requests until the service shuts down.
    package func run() async throws {
        // An error means that the task was cancelled, which is a request to stop too.
        try? await gracefulShutdown()
        try? await channel.close()
        try await group.shutdownGracefully()
    }
}

/// A ``ProbeServer`` can't listen on its address.
package struct ProbeServerError: Error, CustomStringConvertible {
    let address: ProbeAddress
    let underlying: any Error

    package var description: String {
        "The HTTP server can't listen on \(address): \(reason). Choose another address with --http."
    }

    private var reason: String {
        guard let number = (underlying as? IOError)?.errnoCode else { return "\(underlying)" }
        return switch number {
        case EADDRINUSE: "another program uses this port"
        case EADDRNOTAVAIL: "this machine has no such address"
        case EACCES: "this user may not use this port"
        default: String(cString: strerror(number))
        }
    }
}

/// Accepts no connections for a moment after one could not be accepted, because the process or the machine has no free file descriptor.
/// Otherwise the server would try again without end. (NIO's `AcceptBackoffHandler` does not prevent that.)
private final class PauseAfterRefusal: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let pause = TimeAmount.milliseconds(500)

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let channel = context.channel
        channel.setOption(.autoRead, value: false).whenSuccess {
            channel.eventLoop.scheduleTask(in: Self.pause) { channel.setOption(.autoRead, value: true) }
        }
    }
}

/// Limits the number of open connections, because each one needs a file descriptor.
private final class OpenConnections: Sendable {
    /// The open connections, the oldest first.
    private let channels = Mutex<[any Channel]>([])

    /// Adds a new connection, and closes the oldest one if there are too many.
    func admit(_ channel: any Channel) {
        let oldest = channels.withLock { channels -> (any Channel)? in
            channels.append(channel)
            return channels.count > ProbeServer.mostConnections ? channels.removeFirst() : nil
        }
        oldest?.close(promise: nil)
        channel.closeFuture.whenComplete { [self] _ in
            channels.withLock { channels in channels.removeAll { $0 === channel } }
        }
    }
}
