import LibPQ
import Logging
import MoveQueue

/// One worker with its own connection. If the connection is lost, the worker opens a new one.
struct Worker: Sendable {
    let number: Int
    let configuration: DaemonConfiguration
    let idleWorkers: IdleWorkers
    let stopSignal: StopSignal
    let statistics: DaemonStatistics
    let health: DaemonHealth.Loop
    let metrics: DaemonMetrics
    let logger: Logger

    /// Whether a statement for a single list may take as long as the time-outs allow. Only one worker of a daemon is patient, so that a
    /// user's trigger that stands still does not keep all workers busy.
    var isPatient: Bool { number == 1 }

    /// Why a worker ended by itself.
    enum End: Equatable, Sendable {
        case drained, onlyWaitingWork
        case refused(QueueRefused)
    }

    /// The pause before a new connection if a list may have ended the last one.
    private static let pauseWithSuspectedLists = Duration.milliseconds(50)

    /// How often the server is asked whether a COMMIT still waits.
    private static let intervalOfQuestions = PollSchedule.usualInterval

    /// Runs until the worker ends by itself. Returns nil if the daemon stops.
    func run() async -> End? {
        var memory = WorkerMemory(logger, drains: configuration.drains)
        var formerProcess: Int32?
        defer { health.noteEnd() }
        while mustGoOn {
            do {
                health.noteWait()
                let connection = try await Connection.connect(configuration.connection, logger: logger)
                if let formerProcess { try await waitForCommit(ofProcess: formerProcess, on: connection) }
                formerProcess = connection.backendProcessIdentifier
                health.noteConnection()
                var session = try await WorkerSession(self, on: connection, memory)
                defer { memory = session.memory }
                let end = try await session.run()
                await connection.close()
                return end
            } catch {
                guard mustGoOn else { return nil }
                health.noteLostConnection("\(error)")
                metrics.noteLostConnectionOfWorker()
                let suspects = (error as? BatchFailure)?.lists ?? []
                memory.noteLostConnection(error, suspects: suspects)
                // Lists that may have ended the session are left out now, so that the next batch need not wait.
                await stopSignal.wait(
                    atMost: suspects.isEmpty ? memory.backoff.pause() : Self.pauseWithSuspectedLists)
            }
        }
        return nil
    }

    /// Waits while the COMMIT of the worker's former session waits for a synchronous standby.
    ///
    /// If such a session is ended (`pg_terminate_backend`), its transaction becomes visible although no standby has it.
    /// So the worker does not end the session. And it begins no further batch: that COMMIT would wait too, and each
    /// batch would leave one more session on the server, until no role could connect.
    private func waitForCommit(ofProcess process: Int32, on connection: Connection) async throws(PostgresError) {
        var isReported = false
        while mustGoOn, try await StandbyWait.isGoingOn(ofProcess: process, on: connection) {
            let reason = StandbyWait.description(ofProcess: process)
            health.noteWaitForStandby(reason)
            if !isReported {
                logger.error(
                    "\(reason); the worker continues after this wait",
                    metadata: ["next_step": "Start the standby, or change synchronous_standby_names."])
            }
            isReported = true
            await stopSignal.wait(atMost: Self.intervalOfQuestions)
        }
    }

    var mustGoOn: Bool { !stopSignal.isSet && !Task.isCancelled }
}
