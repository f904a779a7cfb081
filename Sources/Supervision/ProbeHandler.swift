import NIOCore
import NIOHTTP1

/// Answers the requests of one connection.
final class ProbeHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let routes: ProbeServer.Routes
    private var head: HTTPRequestHead?

    init(_ routes: ProbeServer.Routes) {
        self.routes = routes
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end:
            guard let head else { return }
            self.head = nil
            write(answer(to: head), to: head, context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(to head: HTTPRequestHead) -> ProbeAnswer {
        guard head.method == .GET || head.method == .HEAD else {
            return ProbeAnswer(status: 405, body: "Only GET and HEAD are answered.\n")
        }
        let path = String(head.uri.prefix { $0 != "?" })
        guard let route = routes[path] else {
            return ProbeAnswer(status: 404, body: "There is \(routes.keys.sorted().joined(separator: ", ")).\n")
        }
        return route()
    }

    private func write(_ answer: ProbeAnswer, to request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let body = ByteBuffer(string: answer.body)
        var head = HTTPResponseHead(version: request.version, status: .init(statusCode: answer.status))
        head.headers.add(name: "Content-Type", value: answer.contentType)
        head.headers.add(name: "Content-Length", value: "\(body.readableBytes)")
        head.headers.add(name: "Cache-Control", value: "no-store")
        if answer.status == 405 { head.headers.add(name: "Allow", value: "GET, HEAD") }
        if !request.isKeepAlive { head.headers.add(name: "Connection", value: "close") }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if request.method != .HEAD { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        let written = context.writeAndFlush(wrapOutboundOut(.end(nil)))
        guard !request.isKeepAlive else { return }
        let channel = context.channel
        written.whenComplete { _ in channel.close(promise: nil) }
    }
}
