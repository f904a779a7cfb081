import LibPQ

/// How long a command that only reads waits for a table that another session has locked.
package enum ReadingLockLimit {
    package static let duration = Duration.seconds(5)
    /// The limit as a setting of a transaction.
    package static let setting = ("lock_timeout", "\(duration.milliseconds)")
}
