import LibPQ
import Logging

extension Connection {
    /// Connects, and tries again for some time as long as the server can't be reached or is only starting.
    ///
    /// - Throws: `PostgresError` of the last attempt. A wrong password or a missing database is no reason to wait.
    static func connect(
        _ parameters: ConnectionParameters, waitingAtMost limit: Duration, logger: Logger
    ) async throws -> Connection {
        let deadline = ContinuousClock.now + limit
        var pause = Duration.milliseconds(100)
        while true {
            do {
                return try await connect(parameters, logger: logger)
            } catch {
                guard error.connectionFailure?.mayPass == true, .now < deadline else { throw error }
                logger.info(
                    "waiting for the server", metadata: ["server": "\(parameters.summary)", "error": "\(error)"])
            }
            // The last attempt is at the deadline, not a pause before it.
            try await Task.sleep(for: min(pause, deadline - .now))
            pause = min(pause * 2, .seconds(2))
        }
    }
}
