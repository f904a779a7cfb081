import FaultHarness
import LibPQ
import LocalPostgres
import TestPostgres

/// A standby of a test's server, with `hot_standby_feedback`.
enum Standby {
    /// Gives `body` a session there, as the superuser.
    static func with(
        of primary: LocalCluster, slot: Bool = false, _ body: (Connection) async throws -> Void
    ) async throws {
        let standby = try await TestServer.makeCluster(
            settings: TestServer.defaultSettings.merging([
                "hot_standby_feedback": "on", "wal_receiver_status_interval": "1s",
            ]) { $1 }, installation: primary.installation)
        do {
            try await ServerCommand.run(
                primary.installation.program("pg_basebackup"),
                [
                    "--dbname", await primary.loopbackURL(database: "postgres"), "--pgdata",
                    "\(standby.directory)/data",
                    "--write-recovery-conf", "--checkpoint=fast", "--no-sync",
                ] + (slot ? ["--create-slot", "--slot=feedback"] : []))
            try await standby.start()
            try await body(TestDatabase.connect(to: await standby.url(database: TestDatabase.current.name)))
        } catch {
            await standby.shutDown()
            throw error
        }
        await standby.shutDown()
    }
}
