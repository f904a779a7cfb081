import Foundation
import Glibc
import Synchronization

/// A statement that a client sends.
package struct ObservedStatement: Sendable, Equatable {
    /// The SQL of the statement.
    package let text: String
    /// Whether a transaction was open when it was sent.
    package let isInTransaction: Bool
}

/// Stands between clients and servers on 127.0.0.1, and stops a connection at a chosen moment: before a statement, or
/// before its answer. The caller decides what happens then.
///
/// One thread transfers all data. The proxy reads the statements, so connections through it are not encrypted.
package final class FaultProxy: Sendable {
    /// Where a connection stops.
    package enum Phase: String, Sendable, CaseIterable {
        /// The statement has not reached the server.
        case beforeRequest
        /// The server has the statement, and executes it.
        case underWay
        /// The statement is done, and its answer is not sent to the client.
        case beforeAnswer
    }

    typealias StopIdentifier = Int
    typealias LinkIdentifier = Int

    private struct Stop {
        let identifier: StopIdentifier
        let phase: Phase
        let matches: @Sendable (ObservedStatement) -> Bool
    }

    private struct State {
        var serverPorts: [UInt16]
        var links: [LinkIdentifier: ProxyLink] = [:]
        var lastLink: LinkIdentifier = 0
        var stops: [Stop] = []
        var lastStop: StopIdentifier = 0
        var reached: [StopIdentifier: LinkIdentifier] = [:]
        var isFrozen = false
        var isServerAway = false
        var isClosed = false
        /// Whether all descriptors are closed. Then their numbers may belong to other files.
        var hasEnded = false
    }

    /// The ports to which clients connect, one for each server.
    package let ports: [UInt16]
    private let listeners: [Int32]
    private let wakeUp: (readEnd: Int32, writeEnd: Int32)
    private let state: Mutex<State>

    /// Starts the proxy. It forwards each of ``ports`` to the server port with the same index in `serverPorts`.
    package init(serverPorts: [UInt16]) throws {
        let opened = try serverPorts.map { _ in try LoopbackSocket.listen() }
        for listener in opened { _ = fcntl(listener.descriptor, F_SETFL, O_NONBLOCK) }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError(operation: "open a pipe", number: errno) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        wakeUp = (ends[0], ends[1])
        ports = opened.map(\.port)
        listeners = opened.map(\.descriptor)
        state = Mutex(State(serverPorts: serverPorts))
        Thread.detachNewThread { [self] in carry() }
    }

    /// Closes all connections, and accepts no more.
    package func close() {
        state.withLock { $0.isClosed = true }
        signal()
    }

    /// Forwards new connections to other servers.
    package func redirect(to serverPorts: [UInt16]) {
        state.withLock { $0.serverPorts = serverPorts }
    }

    /// Stops forwarding data, in both directions and on all connections. New connections are accepted, and get no
    /// answer.
    package func freeze() {
        state.withLock { state in
            state.isFrozen = true
            for identifier in state.links.keys { state.links[identifier]?.freeze() }
        }
        signal()
    }

    /// Behaves as if the servers had stopped: closes all connections, and refuses new ones, until ``serverReturns()``.
    package func serverGoesAway() {
        let links = state.withLock { state in
            state.isServerAway = true
            if !state.hasEnded { listeners.forEach(LoopbackSocket.stopListening) }
            defer { state.links = [:] }
            return Array(state.links.values)
        }
        for link in links { link.close() }
        signal()
    }

    /// Forwards new connections again.
    package func serverReturns() throws {
        try state.withLock { state in
            state.isServerAway = false
            if !state.hasEnded { try listeners.forEach(LoopbackSocket.listenAgain) }
        }
        signal()
    }

    /// Stops the next connection that sends a statement that `matches`, and waits until it has stopped. If the
    /// statement may be sent before the call, use ``nextStop(_:at:)``.
    ///
    /// - Returns: the connection; nil where none came there in time. Then none will be stopped either.
    package func stop(
        _ phase: Phase, within limit: Duration, at matches: @escaping @Sendable (ObservedStatement) -> Bool
    ) async -> StoppedLink? {
        await nextStop(phase, at: matches).reached(within: limit)
    }

    /// Requests that the next connection that sends a statement that `matches` is stopped. The caller starts the sender
    /// afterwards.
    package func nextStop(_ phase: Phase, at matches: @escaping @Sendable (ObservedStatement) -> Bool) -> NextStop {
        let identifier = state.withLock { state in
            state.lastStop += 1
            state.stops.append(Stop(identifier: state.lastStop, phase: phase, matches: matches))
            return state.lastStop
        }
        return NextStop(proxy: self, identifier: identifier, phase: phase)
    }

    /// A connection that will be stopped.
    package struct NextStop: Sendable {
        fileprivate let proxy: FaultProxy
        fileprivate let identifier: StopIdentifier
        fileprivate let phase: Phase

        /// Waits until a connection is stopped.
        ///
        /// - Returns: the connection; nil if none came there in time. Then none will be stopped either.
        package func reached(within limit: Duration) async -> StoppedLink? {
            await proxy.waitForStop(identifier, phase, within: limit)
        }
    }

    private func waitForStop(
        _ identifier: StopIdentifier, _ phase: Phase, within limit: Duration
    ) async -> StoppedLink? {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline, !Task.isCancelled {
            if let link = reached(identifier, phase) { return link }
            try? await Task.sleep(for: .milliseconds(2))
        }
        return state.withLock { state in
            if let link = state.reached.removeValue(forKey: identifier) { return stopped(link, state, phase) }
            state.stops.removeAll { $0.identifier == identifier }
            for link in state.links.keys { state.links[link]?.forget(identifier) }
            return nil
        }
    }

    /// Stops one connection immediately. `choice` is a random number, so that each connection is chosen equally often.
    package func stopAnywhere(_ choice: Int) -> StoppedLink? {
        state.withLock { state in
            let passing = state.links.filter { $0.value.state == .passing }.keys.sorted()
            guard !passing.isEmpty else { return nil }
            let link = passing[choice % passing.count]
            state.links[link]?.freeze()
            return stopped(link, state, .underWay)
        }
    }

    private func reached(_ identifier: StopIdentifier, _ phase: Phase) -> StoppedLink? {
        state.withLock { state in
            state.reached.removeValue(forKey: identifier).flatMap { stopped($0, state, phase) }
        }
    }

    private func stopped(_ link: LinkIdentifier, _ state: borrowing State, _ phase: Phase) -> StoppedLink? {
        guard let stopped = state.links[link] else { return nil }
        return StoppedLink(
            proxy: self, identifier: link, phase: phase, statement: stopped.statement,
            serverProcess: stopped.answers.serverProcess)
    }

    fileprivate func proceed(_ link: LinkIdentifier) {
        state.withLock { $0.links[link]?.proceed() }
        signal()
    }

    fileprivate func cut(_ link: LinkIdentifier) {
        state.withLock { $0.links.removeValue(forKey: link) }?.close()
        signal()
    }

    private func signal() {
        state.withLock { state in
            guard !state.hasEnded else { return }
            var byte: UInt8 = 0
            _ = write(wakeUp.writeEnd, &byte, 1)
        }
    }
}

/// A stopped connection. It forwards no data until ``proceed()`` or ``cut()`` is called.
package struct StoppedLink: Sendable {
    fileprivate let proxy: FaultProxy
    fileprivate let identifier: Int
    package let phase: FaultProxy.Phase
    /// The statement at which it stopped.
    package let statement: ObservedStatement
    /// The process identifier of the connection's server process, as the server has sent it.
    package let serverProcess: Int32

    /// Continues to pass data on.
    package func proceed() { proxy.proceed(identifier) }

    /// Closes both sides. Data that was held back is lost.
    package func cut() { proxy.cut(identifier) }
}

// MARK: The thread

extension FaultProxy {
    private func carry() {
        while true {
            var (descriptors, links) = state.withLock { descriptorsToAwait($0) }
            poll(&descriptors, nfds_t(descriptors.count), -1)
            drainSignals()
            let isClosed = state.withLock { state in
                for (offset, listener) in listeners.enumerated() where descriptors[offset + 1].revents != 0 {
                    accept(listener, state.serverPorts[offset], &state)
                }
                for (offset, link) in links.enumerated() {
                    let place = 1 + listeners.count + 2 * offset
                    transfer(link, descriptors[place].revents, descriptors[place + 1].revents, &state)
                }
                return state.isClosed
            }
            if isClosed { return end() }
        }
    }

    private func descriptorsToAwait(_ state: borrowing State) -> ([pollfd], [LinkIdentifier]) {
        // A socket that does not listen any more is left out, because it would end each wait at once.
        let awaited = [wakeUp.readEnd] + listeners.map { state.isServerAway ? -1 : $0 }
        var descriptors = awaited.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var links: [LinkIdentifier] = []
        for (identifier, link) in state.links {
            links.append(identifier)
            descriptors += link.descriptors
        }
        return (descriptors, links)
    }

    private func drainSignals() {
        var bytes: (UInt64, UInt64) = (0, 0)
        while read(wakeUp.readEnd, &bytes, 16) > 0 {}
    }

    private func accept(_ listener: Int32, _ serverPort: UInt16, _ state: inout State) {
        while let client = LoopbackSocket.accept(listener) {
            guard let server = LoopbackSocket.connect(port: serverPort) else {
                Glibc.close(client)
                continue
            }
            state.lastLink += 1
            var link = ProxyLink(client: client, server: server)
            if state.isFrozen { link.freeze() }
            state.links[state.lastLink] = link
        }
    }

    private func transfer(
        _ identifier: LinkIdentifier, _ clientEvents: Int16, _ serverEvents: Int16, _ state: inout State
    ) {
        // The link is removed from the state and put back, because its transfer changes the stops of the same state.
        guard var link = state.links.removeValue(forKey: identifier) else { return }
        let reached = link.transfer(clientEvents: clientEvents, serverEvents: serverEvents) { statement in
            guard let index = state.stops.firstIndex(where: { $0.matches(statement) }) else { return nil }
            let stop = state.stops.remove(at: index)
            return (stop.identifier, stop.phase)
        }
        if let reached { state.reached[reached] = identifier }
        if link.isOver { link.close() } else { state.links[identifier] = link }
    }

    private func end() {
        state.withLock { state in
            state.hasEnded = true
            for link in state.links.values { link.close() }
            state.links = [:]
            for descriptor in listeners + [wakeUp.readEnd, wakeUp.writeEnd] { Glibc.close(descriptor) }
        }
    }
}
