import Glibc
import LibPQ
import OrderingModel
import SeededRandom

extension FaultInjector {
    func injectIntoServers(
        _ fault: FaultPlan.Fault, _ link: StoppedLink?, _ generator: inout SeededGenerator
    ) async throws {
        switch fault.kind {
        case .serverCrashed: try await servers.crash()
        case .serverProcessKilled: try await killServerProcess(link?.serverProcess)
        case .writeAheadLogFailed: try await failWriteAheadLog()
        case .diskFull: try await fillDisk(link)
        case .listsLocked: try await lockLists(&generator)
        case .tableLocked: try await lockTable(&generator)
        case .standbyPromoted:
            try await servers.promote()
            link?.proceed()
            try await servers.replaceStandby()
        default: try await pooler?.restart()
        }
    }

    private func killServerProcess(_ process: Int32?) async throws {
        try await withAdministrator { administrator in
            let sessions = try await administrator.query(
                """
                SELECT session.pid FROM pg_stat_activity AS session
                WHERE session.backend_type = 'client backend' AND session.pid <> pg_backend_pid()
                ORDER BY session.pid <> \(process ?? 0), session.state = 'idle' LIMIT 1
                """)
            guard let session: Int32 = try sessions.first?.decode(0) else { return }
            kill(session, SIGKILL)
        }
        try await waitUntilRecovered()
    }

    private func failWriteAheadLog() async throws {
        try await withAdministrator { try await servers.failWriteAheadLog(through: $0) }
        try await waitUntilRecovered()
    }

    /// Keeps the disk full until the server has refused a write, and for 0.5 s more.
    private func fillDisk(_ link: StoppedLink?) async throws {
        try await withAdministrator { administrator in
            let size: Int = try await administrator.query("SELECT pg_relation_size('brocot.move_log')")[0].decode(0)
            try await servers.fillTables(log: size)
        }
        link?.proceed()
        let refusals = await servers.count(of: "could not extend file")
        for _ in 0..<100 {
            guard await servers.count(of: "could not extend file") == refusals else { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        try await Task.sleep(for: .milliseconds(500))
        try await servers.makeRoomForTables()
    }

    private func lockLists(_ generator: inout SeededGenerator) async throws {
        let count = Int.random(in: 1...(lists.count / 2), using: &generator)
        let chosen = Array(lists.shuffled(using: &generator).prefix(count))
        try await hold(
            "SELECT pg_advisory_xact_lock(brocot.list_lock_key('items', list)) FROM unnest(\(chosen)) AS list")
    }

    private func lockTable(_ generator: inout SeededGenerator) async throws {
        let tables: [SQL] = ["brocot.items", "brocot.move_log", "brocot.move_requests"]
        try await hold("LOCK TABLE \(tables.randomElement(using: &generator) ?? tables[0]) IN ACCESS EXCLUSIVE MODE")
    }

    /// Takes locks, and holds them in an idle transaction for half of the time that the server allows.
    private func hold(_ locking: SQL) async throws {
        try await withAdministrator { administrator in
            try await administrator.execute(script: "BEGIN")
            try await administrator.execute(locking)
            try await Task.sleep(for: idleTimeout / 2)
            try await administrator.execute(script: "ROLLBACK")
        }
    }

    private func waitUntilRecovered() async throws {
        for _ in 0..<1_200 {
            try await Task.sleep(for: .milliseconds(50))
            try await servers.startAgain()
            if try await servers.answers() { return }
        }
        throw FaultFailure(description: "the server did not recover within a minute")
    }
}

/// A fault that could not be injected.
struct FaultFailure: Error, CustomStringConvertible {
    let description: String
}
