import Glibc

/// The connection of a client, and the connection to the server that belongs to it.
struct ProxyLink {
    enum State: Equatable {
        case passing
        /// The link will stop when the server has received the statement, or when it has answered.
        case approaching(FaultProxy.StopIdentifier, FaultProxy.Phase)
        /// No data is forwarded in either direction.
        case stopped
    }

    private static let capacity = 1 << 20

    let client: Int32
    let server: Int32
    private(set) var state = State.passing
    private(set) var answers = AnswerFraming()
    /// The latest statement that the client sent.
    private(set) var statement = ObservedStatement(text: "", isInTransaction: false)
    private var requests = RequestFraming()
    /// What the client has sent and the link has not forwarded yet.
    private var units: [RequestFraming.Unit] = []
    private var isFirstUnitJudged = false
    private var toServer: [UInt8] = []
    private var toClient: [UInt8] = []
    private var readyCountToAwait = 0
    private var clientIsGone = false
    private var serverIsGone = false

    init(client: Int32, server: Int32) {
        self.client = client
        self.server = server
    }

    /// Whether one side has ended and nothing is left to forward.
    var isOver: Bool {
        state == .passing
            && ((serverIsGone && toClient.isEmpty) || (clientIsGone && toServer.isEmpty && units.isEmpty))
    }

    /// The descriptors to wait for. A descriptor is negative if there is nothing to wait for.
    var descriptors: [pollfd] {
        guard state != .stopped else { return [pollfd](repeating: pollfd(fd: -1, events: 0, revents: 0), count: 2) }
        let passes = state == .passing
        let fromClient = passes && !clientIsGone && toServer.count < Self.capacity
        let fromServer = !serverIsGone && (!passes || toClient.count < Self.capacity)
        return [
            descriptor(client, reads: fromClient, writes: passes && !toClient.isEmpty),
            descriptor(server, reads: fromServer, writes: !serverIsGone && !toServer.isEmpty),
        ]
    }

    private func descriptor(_ descriptor: Int32, reads: Bool, writes: Bool) -> pollfd {
        let events = (reads ? Int16(POLLIN) : 0) | (writes ? Int16(POLLOUT) : 0)
        return pollfd(fd: events == 0 ? -1 : descriptor, events: events, revents: 0)
    }

    /// Reads and writes what is possible. `judge` says which stop a statement meets, if any.
    ///
    /// - Returns: the stop that was reached.
    mutating func transfer(
        clientEvents: Int16, serverEvents: Int16,
        judge: (ObservedStatement) -> (FaultProxy.StopIdentifier, FaultProxy.Phase)?
    ) -> FaultProxy.StopIdentifier? {
        guard state != .stopped else { return nil }
        if serverEvents & Int16(POLLIN | POLLHUP | POLLERR) != 0, !serverIsGone { receiveAnswers() }
        if clientEvents & Int16(POLLIN | POLLHUP | POLLERR) != 0, !clientIsGone { receiveRequests() }
        if let stop = passRequests(judge) { return stop }
        if !transmit(&toServer, to: server) { serverIsGone = true }
        if state == .passing, !transmit(&toClient, to: client) { clientIsGone = true }
        guard case .approaching(let stop, let phase) = state else { return nil }
        let isReached = phase == .underWay ? toServer.isEmpty : readyCountToAwait <= answers.readyCount
        guard isReached || serverIsGone else { return nil }
        state = .stopped
        return stop
    }

    private mutating func receiveAnswers() {
        switch receive(server) {
        case .bytes(let bytes):
            answers.append(bytes)
            toClient += bytes
        case .nothing: break
        case .end: serverIsGone = true
        }
    }

    private mutating func receiveRequests() {
        switch receive(client) {
        case .bytes(let bytes): units += requests.append(bytes)
        case .nothing: break
        case .end: clientIsGone = true
        }
    }

    private mutating func passRequests(
        _ judge: (ObservedStatement) -> (FaultProxy.StopIdentifier, FaultProxy.Phase)?
    ) -> FaultProxy.StopIdentifier? {
        while state == .passing, let unit = units.first {
            switch unit {
            case .other(let bytes): toServer += bytes
            case .encryptionRequest(let bytes):
                answers.expectSingleByte()
                toServer += bytes
            case .statement(let text, let bytes):
                if !isFirstUnitJudged {
                    statement = ObservedStatement(text: text, isInTransaction: answers.isInTransaction)
                    isFirstUnitJudged = true
                    switch judge(statement) {
                    case (let stop, .beforeRequest)?:
                        state = .stopped
                        return stop
                    case (let stop, let phase)?:
                        readyCountToAwait = answers.readyCount + 1
                        state = .approaching(stop, phase)
                    case nil: break
                    }
                }
                toServer += bytes
            }
            units.removeFirst()
            isFirstUnitJudged = false
        }
        return nil
    }

    /// Continues to forward data, also what was held back.
    mutating func proceed() { state = .passing }

    /// Cancels a stop that was not reached.
    mutating func forget(_ stop: FaultProxy.StopIdentifier) {
        if case .approaching(stop, _) = state { state = .passing }
    }

    /// Stops forwarding data.
    mutating func freeze() { state = .stopped }

    func close() {
        Glibc.close(client)
        Glibc.close(server)
    }
}

private enum Reception {
    case bytes([UInt8]), nothing, end
}

private func receive(_ descriptor: Int32) -> Reception {
    var (count, error): (Int, Int32) = (0, 0)
    let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, initializedCount in
        count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        error = errno
        initializedCount = max(count, 0)
    }
    if count > 0 { return .bytes(bytes) }
    return count < 0 && error == EAGAIN ? .nothing : .end
}

/// Sends as many bytes as the kernel accepts. Returns false if the other side is gone.
private func transmit(_ bytes: inout [UInt8], to descriptor: Int32) -> Bool {
    guard !bytes.isEmpty else { return true }
    let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    if count > 0 {
        bytes.removeFirst(count)
        return true
    }
    if errno == EAGAIN { return true }
    bytes = []
    return false
}
