import FoundationEssentials
import Glibc
import LibPQ
import OrderingModel
import SeededRandom
import TestPostgres

/// A fault that was injected.
package struct InjectedFault: Sendable {
    package let kind: FaultKind
    /// The phase in which a connection was stopped for the fault; nil if the fault happened at a random time.
    package let phase: FaultProxy.Phase?
    /// The statement at which the connection was stopped.
    package let statement: ObservedStatement?

    /// The moment of a batch's transaction at which the connection was stopped; nil if it was no such moment.
    package var boundary: Boundary? {
        guard let phase, let step = statement.flatMap(BatchStep.init) else { return nil }
        return Boundary(step: step, phase: phase)
    }
}

/// Injects faults, each at its moment.
struct FaultInjector: Sendable {
    let servers: ReplicatedServers
    let daemons: [DaemonUnderFaults]
    /// The pooler between one daemon and the primary; nil if PgBouncer is not installed.
    let pooler: PgBouncer?
    let enqueuerProxy: FaultProxy
    let lists: [String]
    /// After this time, the server ends an idle transaction.
    let idleTimeout: Duration

    /// How long to wait for a moment before the fault is injected anyway.
    private static let patience = Duration.seconds(2)

    func inject(_ fault: FaultPlan.Fault) async throws -> InjectedFault {
        var generator = SeededGenerator(seed: fault.seed)
        if fault.kind.lane == .enqueuers { return await cutEnqueuer(&generator) }
        let link = await reach(fault.moment, daemons[fault.daemon].proxy)
        do {
            if fault.kind.lane == .daemons {
                try await injectIntoDaemon(fault, link, &generator)
            } else {
                try await injectIntoServers(fault, link, &generator)
                link?.proceed()
            }
        } catch {
            link?.proceed()
            throw error
        }
        return InjectedFault(kind: fault.kind, phase: link?.phase, statement: link?.statement)
    }

    private func reach(_ moment: FaultPlan.Moment, _ proxy: FaultProxy) async -> StoppedLink? {
        switch moment {
        case .anytime: nil
        case .boundary(let boundary):
            await proxy.stop(boundary.phase, within: Self.patience) { BatchStep($0) == boundary.step }
        }
    }

    /// Cuts the connection of the first daemon that reaches this moment. Returns nil if none does within a minute.
    func cut(at boundary: Boundary) async -> InjectedFault? {
        let link = await withTaskGroup(of: StoppedLink?.self) { group in
            for daemon in daemons {
                group.addTask {
                    await daemon.proxy.stop(boundary.phase, within: .seconds(60)) { BatchStep($0) == boundary.step }
                }
            }
            var first: StoppedLink?
            for await link in group {
                guard let link else { continue }
                if first == nil { first = link } else { link.proceed() }
                group.cancelAll()
            }
            return first
        }
        link?.cut()
        return link.map { InjectedFault(kind: .connectionCut, phase: $0.phase, statement: $0.statement) }
    }

    private func cutEnqueuer(_ generator: inout SeededGenerator) async -> InjectedFault {
        let phase = FaultProxy.Phase.allCases.randomElement(using: &generator) ?? .underWay
        let link = await enqueuerProxy.stop(phase, within: Self.patience) { statement in
            statement.text.contains("move_requests") || statement.text.contains("brocot.enqueue")
        }
        link?.cut()
        return InjectedFault(kind: .enqueuerCut, phase: link?.phase, statement: link?.statement)
    }

    // MARK: Daemons

    private func injectIntoDaemon(
        _ fault: FaultPlan.Fault, _ link: StoppedLink?, _ generator: inout SeededGenerator
    ) async throws {
        let daemon = daemons[fault.daemon]
        switch fault.kind {
        case .daemonKilled:
            try await daemon.killAndStart()
            // The killed daemon will not send this statement, so the proxy must not send it either.
            if link?.phase == .beforeRequest { link?.cut() } else { link?.proceed() }
        case .daemonStopped:
            await daemon.send(SIGSTOP)
            link?.proceed()
            try await Task.sleep(for: idleTimeout * Double.random(in: 1.1...2.8, using: &generator))
            await daemon.send(SIGCONT)
        case .sessionTerminated:
            try await terminateSession(of: daemon, link?.serverProcess)
            link?.proceed()
        case .connectionFrozen:
            freeze(link ?? daemon.proxy.stopAnywhere(Int.random(in: 0..<100, using: &generator)), &generator)
        default:
            (link ?? daemon.proxy.stopAnywhere(Int.random(in: 0..<100, using: &generator)))?.cut()
        }
    }

    /// Ends the session with this process identifier. Behind a pooler, no session has it, so another session of the
    /// daemon is ended.
    private func terminateSession(of daemon: DaemonUnderFaults, _ process: Int32?) async throws {
        try await withAdministrator { administrator in
            _ = try await administrator.query(
                """
                SELECT pg_terminate_backend(session.pid)
                FROM pg_stat_activity AS session
                WHERE session.backend_type = 'client backend'
                    AND right(session.application_name, length(\(daemon.name))) = \(daemon.name)
                ORDER BY session.pid <> \(process ?? 0), session.state = 'idle', session.pid LIMIT 1
                """)
        }
    }

    /// Leaves the connection frozen until both sides have given up. Then some connections continue. The others are cut, as the kernel does when
    /// nothing acknowledges what the server sends: otherwise a session could wait in a write for ever, and keep its locks.
    private func freeze(_ link: StoppedLink?, _ generator: inout SeededGenerator) {
        let isCut = Bool.random(using: &generator)
        Task { [idleTimeout] in
            try await Task.sleep(for: idleTimeout * (isCut ? 8 : 4))
            if isCut { link?.cut() } else { link?.proceed() }
        }
    }

    /// Gives `body` a session of the superuser on the primary. It tries again while the primary starts or changes.
    func withAdministrator(_ body: (Connection) async throws -> Void) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            do {
                let administrator = try await servers.connect()
                try await body(administrator)
                await administrator.close()
                return
            } catch let error as PostgresError where error.isConnectionLost && .now < deadline {
                try await Task.sleep(for: .milliseconds(50))
            } catch {
                throw error
            }
        }
    }
}
