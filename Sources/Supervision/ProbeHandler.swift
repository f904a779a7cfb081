import NIOCore
import NIOHTTP1

/// Answers one request and closes the connection. Probes are rare, and with one request per connection nothing else must be
/// limited.
final class ProbeHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let routes: ProbeServer.Routes
    private let patience: TimeAmount
    private var head: HTTPRequestHead?
    private var isAnswered = false
    private var end: Scheduled<Void>?

    init(_ routes: ProbeServer.Routes, patience: TimeAmount) {
        self.routes = routes
        self.patience = patience
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        end = context.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { end?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isAnswered else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end:
            guard let head else { return }
            isAnswered = true
            write(answer(to: head), to: head, context)
        }
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
            return ProbeAnswer(
                status: 404, body: "not found; try one of \(routes.keys.sorted().joined(separator: ", "))\n")
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
        head.headers.add(name: "Connection", value: "close")
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if request.method != .HEAD { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        let written = context.writeAndFlush(wrapOutboundOut(.end(nil)))
        let channel = context.channel
        written.whenComplete { _ in channel.close(promise: nil) }
    }
}
