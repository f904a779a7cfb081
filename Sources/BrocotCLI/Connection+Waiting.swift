import LibPQ
import Logging

extension Connection {
    /// Connects. If the server can't be reached or is starting, it tries again for some time.
    ///
    /// - Throws: The `PostgresError` of the last attempt. After a wrong password or for a missing database it doesn't try again.
    static func connect(
        _ parameters: ConnectionParameters, waitingAtMost limit: Duration, logger: Logger
    ) async throws -> Connection {
        let deadline = ContinuousClock.now + limit
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(2))
        while true {
            do {
                return try await connect(parameters, logger: logger)
            } catch {
                guard error.connectionFailure?.mayPass == true, .now < deadline else { throw error }
                logger.info(
                    "waiting for the server", metadata: ["server": "\(parameters.summary)", "error": "\(error)"])
            }
            // The last pause is shortened, so that the last attempt is at the deadline.
            try await Task.sleep(for: min(backoff.pause(), deadline - .now))
        }
    }
}
