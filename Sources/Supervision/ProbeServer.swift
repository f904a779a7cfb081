import Logging
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

/// What a probe is answered with.
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

/// A small HTTP server for health probes and metrics: GET and HEAD of fixed paths, on a thread of its own, so that it
/// answers however busy everything else is.
package final class ProbeServer: Service {
    /// What answers each path. It is called on the server's thread, and must not wait.
    package typealias Routes = [String: @Sendable () -> ProbeAnswer]

    /// Where more connections than this are open at once, the oldest is closed: probes take milliseconds, so that it is
    /// the one that asks for nothing.
    package static let mostConnections = 64

    /// The port that it listens on.
    package let port: Int
    private let channel: any Channel
    private let group: MultiThreadedEventLoopGroup

    /// Listens at once; port 0 is any that is free. Each connection has one request and its answer, and `patience` for
    /// both, however busily somebody sends.
    ///
    /// - Throws: ``ProbeServerError`` where it can't.
    package static func start(
        at address: ProbeAddress, routes: Routes, patience: Duration = .seconds(10), logger: Logger
    ) async throws -> ProbeServer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let connections = OpenConnections()
        let patience = TimeAmount(patience)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
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

    /// Answers until it is told to stop.
    package func run() async throws {
        // Throws when it is cancelled, which is a request too.
        try? await gracefulShutdown()
        try? await channel.close()
        try await group.shutdownGracefully()
    }
}

/// Where a ``ProbeServer`` can't listen.
package struct ProbeServerError: Error, CustomStringConvertible {
    let address: ProbeAddress
    let underlying: any Error

    package var description: String {
        "HTTP can't be answered on \(address): \(reason). Choose another address with --http."
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

/// Bounds how many connections are open at once, since each takes a descriptor.
private final class OpenConnections: Sendable {
    /// From the oldest on.
    private let channels = Mutex<[any Channel]>([])

    /// Takes in a connection that was just accepted, and closes the oldest one if there are too many.
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
