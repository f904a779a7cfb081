import LibPQ

extension Backoff {
    /// The pauses of a worker or the listener after failures.
    static var ofDaemon: Backoff { Backoff(first: .milliseconds(100), longest: .seconds(5)) }
}
