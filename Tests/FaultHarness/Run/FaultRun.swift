import FoundationEssentials
import LibPQ
import Ordering
import OrderingModel
import SeededRandom
import Synchronization
import TestPostgres

/// A run of daemons, enqueuers and servers in which faults are injected.
package struct FaultRun: Sendable {
    package struct Configuration: Sendable {
        package var seed: UInt64
        package var faults: Int
        package var requests: Int
        package var lists = 200
        package var daemons = 4
        package var enqueuers = 3
        /// The daemons' `--idle-timeout`, in seconds.
        package var idleTimeout = 2

        package init(seed: UInt64, faults: Int, requests: Int) {
            self.seed = seed
            self.faults = faults
            self.requests = requests
        }
    }

    package struct Report: Sendable {
        package var injected: [InjectedFault] = []
        package var requests = 0
        /// Rows that were inserted by SQL.
        package var writtenRows = 0
        /// How often an enqueuer had to send a statement again.
        package var repetitions = 0
        package var duration = Duration.zero
        /// The time from the last fault until nothing was pending.
        package var drainDuration = Duration.zero
        /// What the servers' sessions did if the drain took long.
        package var slowDrain: [String] = []
        /// Messages in the servers' logs, and how often they appeared.
        package var serverMessages: [(text: String, count: Int)] = []
        package var violations: [String] = []
        package var daemonLogs: [String] = []
    }

    private static let serverMessages = [
        "was terminated by signal 6", "was terminated by signal 9", "database system was interrupted",
        "database system was not properly shut down",
        "received promote request", "could not extend file", "No space left on device", "due to administrator command",
        "due to idle-in-transaction timeout", "due to lock timeout", "due to statement timeout",
    ]

    /// The kinds of faults that this machine can't cause, and what they need.
    static let leftOut: [FaultKind: String] = {
        var leftOut: [FaultKind: String] = [:]
        if !PgBouncer.isInstalled { leftOut[.poolerRestarted] = "PgBouncer" }
        if ReplicatedServers.fullness == nil {
            leftOut[.diskFull] = "a right to mount, or util-linux's prlimit"
            leftOut[.writeAheadLogFailed] = leftOut[.diskFull]
        }
        return leftOut
    }()

    private let configuration: Configuration
    private let injector: FaultInjector
    private let progress: Progress
    private var servers: ReplicatedServers { injector.servers }

    /// How many faults have happened. The enqueuers use it to send their requests over the whole run.
    private final class Progress: Sendable {
        private let injected = Mutex<[InjectedFault]>([])
        private let over = Atomic(false)

        /// Whether there will be no more faults.
        var isOver: Bool { over.load(ordering: .relaxed) }

        func end() { over.store(true, ordering: .relaxed) }

        var faults: [InjectedFault] { injected.withLock { $0 } }

        func note(_ fault: InjectedFault) { injected.withLock { $0.append(fault) } }
    }

    /// Runs the servers, daemons and enqueuers, injects the faults, and checks the database at the end.
    package static func run(_ configuration: Configuration) async throws -> Report {
        let servers = try await ReplicatedServers()
        var pooler: PgBouncer?
        do {
            if PgBouncer.isInstalled { pooler = try await PgBouncer.start(.transaction, before: servers.primaryURL) }
            let report = try await FaultRun(configuration, servers, pooler).run()
            await pooler?.shutDown()
            await servers.shutDown()
            return report
        } catch {
            await pooler?.shutDown()
            await servers.shutDown()
            throw error
        }
    }

    private init(_ configuration: Configuration, _ servers: ReplicatedServers, _ pooler: PgBouncer?) throws {
        self.configuration = configuration
        progress = Progress()
        let serverPorts = servers.ports
        // One daemon works through PgBouncer.
        let daemons = try (0..<configuration.daemons).map { number in
            let proxy = try FaultProxy(serverPorts: number == 0 ? pooler.map { [$0.port] } ?? serverPorts : serverPorts)
            let name = "daemon\(number)"
            return DaemonUnderFaults(
                name: name, proxy: proxy, url: servers.url(ports: proxy.ports, role: .daemon, applicationName: name),
                arguments: ["--idle-timeout", "\(configuration.idleTimeout)"])
        }
        injector = FaultInjector(
            servers: servers, daemons: daemons, pooler: pooler,
            enqueuerProxy: try FaultProxy(serverPorts: serverPorts),
            lists: (1...configuration.lists).map { "list \($0)" }, idleTimeout: .seconds(configuration.idleTimeout))
    }

    private func run() async throws -> Report {
        do {
            return try await work()
        } catch {
            let activity = (try? await servers.activity()) ?? ["the server does not answer"]
            print("The run failed: \(error). The sessions of the primary:\n\(activity.joined(separator: "\n"))")
            for daemon in injector.daemons { await daemon.kill() }
            throw error
        }
    }

    private func work() async throws -> Report {
        let start = ContinuousClock.now
        try await fillLog()
        for daemon in injector.daemons { try await daemon.start() }
        async let enqueuing = enqueue()
        async let writing = writeRows()
        try await injectFaults()
        await coverBoundaries()
        progress.end()
        let enqueuers = try await enqueuing
        let writer = try await writing
        var report = Report()
        let drainStart = ContinuousClock.now
        report.slowDrain = try await waitUntilDrained()
        report.drainDuration = drainStart.duration(to: .now)
        for daemon in injector.daemons { await daemon.stop() }
        report.injected = progress.faults
        report.repetitions = enqueuers.reduce(0) { $0 + $1.repetitions }
        report.requests = enqueuers.reduce(0) { $0 + $1.asked.count }
        for text in Self.serverMessages { report.serverMessages.append((text, await servers.count(of: text))) }
        let record = try await RunRecord.read(enqueuers.flatMap(\.asked), on: servers.connect())
        for daemon in injector.daemons {
            report.violations += await daemon.failures
            report.daemonLogs += daemon.latestLog
            daemon.proxy.close()
        }
        report.violations += record.violations()
        report.violations += try await writer.violations(on: servers.connect())
        report.writtenRows = writer.rowCount
        let refusals = await servers.count(of: "permission denied")
        if refusals > 0 { report.violations.append("\(refusals) times a role lacked a right") }
        injector.enqueuerProxy.close()
        report.duration = start.duration(to: .now)
        return report
    }

    /// Makes the log longer than any other file of the server, so that a limit of file sizes affects only the log. Each
    /// row fills a page.
    private func fillLog() async throws {
        try await servers.connect().execute(
            """
            INSERT INTO brocot.move_log
                (id, ordered_table, list, items, placement, requested_at, outcome, error_code, error, applied_at)
            SELECT -number, 'items', 'filler', '{filler}', 'first', now(), 'rejected', 'failed', repeat('x', 1864), now()
            FROM generate_series(1, 10000) AS number
            """)
    }

    private func injectFaults() async throws {
        let kinds = FaultKind.allCases.filter { Self.leftOut[$0] == nil }
        let plan = FaultPlan(
            seed: configuration.seed, faults: configuration.faults, daemons: configuration.daemons, kinds: kinds)
        try await inject(plan)
    }

    /// Injects a fault at each boundary that no fault has met.
    private func coverBoundaries() async {
        for boundary in progress.faults.missedBoundaries {
            if let fault = await injector.cut(at: boundary) { progress.note(fault) }
        }
    }

    private func inject(_ plan: FaultPlan) async throws {
        var lanes: [[FaultPlan.Fault]] = [
            plan.faults.filter { $0.kind.lane == .servers }, plan.faults.filter { $0.kind.lane == .enqueuers },
        ]
        for daemon in 0..<configuration.daemons {
            lanes.append(plan.faults.filter { $0.kind.lane == .daemons && $0.daemon == daemon })
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in lanes {
                group.addTask {
                    for fault in lane { progress.note(try await injector.inject(fault)) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// - Returns: What the servers' sessions did if it took long.
    private func waitUntilDrained() async throws -> [String] {
        let start = ContinuousClock.now
        var isPending = true
        var activity: [String] = []
        while isPending, start.duration(to: .now) < .seconds(900) {
            if activity.isEmpty, start.duration(to: .now) > .seconds(60) {
                try await injector.withAdministrator { _ in activity = try await servers.activity() }
            }
            try await injector.withAdministrator { administrator in
                isPending = try await administrator.query("SELECT EXISTS (SELECT FROM brocot.move_requests)")[0].decode(
                    0)
            }
            if isPending { try await Task.sleep(for: .milliseconds(20)) }
        }
        return activity
    }

    // MARK: Enqueuing

    private func enqueue() async throws -> [Enqueuer] {
        try await withThrowingTaskGroup(of: Enqueuer.self) { group in
            for number in 0..<configuration.enqueuers { group.addTask { try await enqueue(number) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func enqueue(_ number: Int) async throws -> Enqueuer {
        let name = "enqueuer\(number)"
        let own = configuration.requests / configuration.enqueuers
        var generator = SeededGenerator(seed: configuration.seed &+ UInt64(number) &+ 1)
        var moves = TableKind.allCases.enumerated().map { offset, kind in
            RandomMoves(
                generator: SeededGenerator(seed: generator.next() &+ UInt64(offset)), orderedTable: kind.name,
                lists: kind == .builtIn ? skewedLists : FaultTables.lists(of: kind, like: injector.lists),
                items: FaultTables.items(of: kind), longestBlock: 5, changesOfList: 5)
        }
        var enqueuer = Enqueuer(
            name: name, url: servers.url(ports: injector.enqueuerProxy.ports, role: .requester, applicationName: name))
        while enqueuer.asked.count < own || !progress.isOver {
            let share = min(1, Double(progress.faults.count + configuration.daemons) / Double(configuration.faults))
            let allowed = Int(share * Double(own)) - enqueuer.asked.count
            // Most statements are small, and one of 20 may be large.
            let largest = Int.random(in: 0..<20, using: &generator) == 0 ? 400 : 20
            let size = max(1, min(allowed, Int.random(in: 1...largest, using: &generator)))
            try await enqueuer.ask(
                for: (0..<size).map { _ in moves[max(0, Int.random(in: -1..<moves.count, using: &generator))].next() })
            // An enqueuer that is ahead of the faults continues slowly, so that daemons have work at every fault.
            let longestPause = allowed > 0 ? 10 : 100
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...longestPause, using: &generator)))
        }
        return enqueuer
    }

    /// Writes rows by SQL until there are no more faults.
    private func writeRows() async throws -> RowWriter {
        var writer = RowWriter(
            url: servers.url(ports: injector.enqueuerProxy.ports, role: .requester, applicationName: "writer"),
            seed: configuration.seed)
        while !progress.isOver {
            try await writer.write()
            try await Task.sleep(for: .milliseconds(20))
        }
        return writer
    }

    /// The lists, each repeated by its weight: list n is chosen 1/n times as often as list 1.
    private var skewedLists: [String] {
        injector.lists.enumerated().flatMap { number, list in
            Array(repeating: list, count: max(1, configuration.lists / (number + 1)))
        }
    }
}
