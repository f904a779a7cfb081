import LibPQ

/// The settings of commands that only read.
package enum ReadingSettings {
    /// How long such a command waits for a table that another session has locked.
    package static let lockTimeout = Duration.seconds(5)
    /// The settings of a transaction. The server compiles no plans, which takes seconds beside many partitions.
    package static let ofTransaction = [("lock_timeout", "\(lockTimeout.milliseconds)"), ("jit", "off")]
}
